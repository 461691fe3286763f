"""The files that a session has read and changed."""
