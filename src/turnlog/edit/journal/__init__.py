"""Work on several files that is done as a whole or not at all, even if the process is killed."""
