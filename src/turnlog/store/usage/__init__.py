"""Usage reports from the index: SQLite sums the `spend` table, so a report takes milliseconds.

These modules never decode JSON or compute prices, because they are imported whenever the command starts.
"""
