"""How the index, and the files themselves, are searched."""
