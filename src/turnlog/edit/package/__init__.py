"""Sessions with all that belongs to them in one file."""
