"""Moves sessions when their project folder is renamed."""
