"""All sessions of a machine: the index, what is asked of it, and the archive."""
