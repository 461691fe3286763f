"""Session -> spans, without I/O: which spans exist, what they contain, when they are final, and their ids."""
