"""What fills the context window, and what can be removed from it."""
