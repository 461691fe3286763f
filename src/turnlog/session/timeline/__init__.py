"""A session in reading order."""
