"""Reports of usage out of the index: sums that SQLite makes from the table `spend`, so that they cost milliseconds.

Nothing here decodes JSON or prices anything: the modules are imported at every start of the command.
"""
