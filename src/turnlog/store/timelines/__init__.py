"""Stored timelines, so that opening a session doesn't require reading all of it."""
