"""Sessions while they are written: what is new in them, and what they are doing."""
