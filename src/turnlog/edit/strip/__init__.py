"""Removes from a session what fills its context."""
