"""`turnlog trace` and `turnlog hook`."""
