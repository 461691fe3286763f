"""Deleting sessions, and bringing them back."""
