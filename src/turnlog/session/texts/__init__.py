"""One pass over a file: its lines, what can be searched in them, and what it is about."""
