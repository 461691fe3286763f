"""Parts of the usage, such as an hour of the week: their addresses, and their sums for each session."""
