"""The files that a session read and changed."""
