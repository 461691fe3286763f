"""The command line: parse, call one function, print. A folder a family of commands; `table` names them all.

`clone.py` holds the words of a command, `cloning.py` what it does and says: the former is loaded for its help alone.
"""
