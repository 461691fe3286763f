"""Changes of the user's files that can be taken back."""
