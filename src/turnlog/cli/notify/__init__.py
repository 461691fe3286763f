"""`turnlog notify` and its commands."""
