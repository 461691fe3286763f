"""Usage reports from the index: SQLite sums the table `spend`, so a report takes milliseconds.

These modules never decode JSON or compute prices, because every start of the command imports them.
"""
