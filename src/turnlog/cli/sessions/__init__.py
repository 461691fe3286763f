"""Commands for all sessions on a machine: `ls`, `tree` and `index`."""
