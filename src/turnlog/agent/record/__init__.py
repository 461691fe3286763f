"""Writing a session: lines of one chain, added to one file by one process."""
