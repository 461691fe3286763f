"""Writes a session: the lines of one chain, which a single process appends to a single file."""
