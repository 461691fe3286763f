"""Writes a session: the lines of one chain, appended to one file by one process."""
