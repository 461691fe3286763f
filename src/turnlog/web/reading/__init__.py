"""The page of a session."""
