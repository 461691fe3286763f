"""Resumes a session: lists candidates, reads the conversation, and continues it."""
