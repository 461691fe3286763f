"""The command line: parse, call one function, print. A folder a family of commands; `table` names them all."""
