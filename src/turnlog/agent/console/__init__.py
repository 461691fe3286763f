"""The conversation in a terminal: what a person types, is shown and is asked."""
