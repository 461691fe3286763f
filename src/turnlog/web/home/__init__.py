"""The page that lists all sessions."""
