"""What fills the context window, and what can be taken out of it."""
