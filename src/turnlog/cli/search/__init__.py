"""`turnlog search`."""
