"""`turnlog quest`."""
