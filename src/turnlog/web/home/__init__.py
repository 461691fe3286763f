"""The page of all sessions."""
