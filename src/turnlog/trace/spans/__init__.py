"""Session -> spans, pure: which there are, what they say, when they are final, and their ids."""
