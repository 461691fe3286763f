"""Searches the index and the files themselves."""
