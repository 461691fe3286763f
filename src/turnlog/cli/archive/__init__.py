"""`turnlog archive`."""
