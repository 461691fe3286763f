"""`turnlog web`."""
