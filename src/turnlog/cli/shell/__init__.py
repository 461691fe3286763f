"""What shells know of the program: completion of commands, options and sessions."""
