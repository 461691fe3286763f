"""Moves sessions along with a renamed project folder."""
