"""The command line: parse, call one function of the API, print.

Each folder holds a family of commands; `table` names them all. A command imports the API inside its function, so that
`--help` responds quickly.
"""
