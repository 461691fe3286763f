"""Moves sessions along with a project folder that got another path."""
