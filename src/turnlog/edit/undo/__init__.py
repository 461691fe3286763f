"""Changes of the user's files that can be undone."""
