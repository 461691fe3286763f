"""Deletes sessions, and restores them."""
