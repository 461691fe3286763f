"""The quest's pages, its feed of events, and its profile."""
