"""Taking a session up again: which ones there are, what was said in them, and where they go on."""
