"""Commands for all sessions on a machine: `ls`, `tree`, `index`."""
