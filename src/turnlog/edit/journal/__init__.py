"""Changes to several files that are made completely or not at all, even if the process is killed."""
