"""One pass over a file: its lines, their searchable texts, and its topic."""
