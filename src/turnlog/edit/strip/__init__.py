"""Removes content from a session to free space in its context."""
