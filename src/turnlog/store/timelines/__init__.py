"""Stored timelines, so that opening a session doesn't read all of it."""
