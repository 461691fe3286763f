"""The command line: parse, call one API function, print.

Each folder contains a family of commands; `table` lists them all. A command imports the API inside its function, so
that `--help` responds quickly.
"""
