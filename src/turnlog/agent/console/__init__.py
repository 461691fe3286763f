"""The conversation in a terminal: input, display and questions."""
