"""Taking out of a session what fills its context."""
