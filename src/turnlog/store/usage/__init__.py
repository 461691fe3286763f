"""Usage reports from the index: SQLite sums the table `spend`, so a report takes milliseconds.

Nothing here decodes JSON or computes prices, because every start of the command imports these modules.
"""
