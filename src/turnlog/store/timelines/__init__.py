"""Timelines that are kept, so that opening a session does not read it."""
