"""Sessions in progress: their new entries, and their states."""
