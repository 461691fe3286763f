"""Shell completion of commands, options and sessions."""
