"""Changes several files completely or not at all, even if the process is killed."""
