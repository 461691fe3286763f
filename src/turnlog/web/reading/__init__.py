"""The session page."""
