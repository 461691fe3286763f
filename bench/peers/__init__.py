"""Programs with which we compare turnlog, in the versions to which the numbers refer."""
