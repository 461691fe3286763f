"""`turnlog statusline`."""
