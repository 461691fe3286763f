"""Search of the index, and of the files themselves."""
