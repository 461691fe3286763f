"""The actions on sessions that a page can start."""
