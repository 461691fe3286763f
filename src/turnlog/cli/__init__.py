"""The command line: parse, call one function, print. A folder a family of commands, a file a command; `table` names them all."""
