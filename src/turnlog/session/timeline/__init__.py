"""A session in the order in which it is read."""
