"""Sessions in progress: what is new in them, and what they are doing."""
