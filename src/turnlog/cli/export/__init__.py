"""`turnlog export`."""
