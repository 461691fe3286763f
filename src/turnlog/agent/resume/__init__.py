"""Resume a session: list candidates, read the conversation, and continue it."""
