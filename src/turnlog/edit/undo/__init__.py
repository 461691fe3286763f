"""Makes changes to the user's files that can be undone."""
