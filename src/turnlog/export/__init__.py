"""Sessions for others: one module for each format, all from the same views."""
