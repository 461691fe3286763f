"""All sessions of a machine: `ls`, `tree`, `index`."""
