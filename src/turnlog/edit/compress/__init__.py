"""Shortens or summarises older turns."""
