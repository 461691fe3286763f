"""The command line: each command parses its arguments, calls one API function and prints the result.

Each folder contains a family of commands; `table` lists them all. A command imports the API inside its function so that
`--help` responds quickly.
"""
