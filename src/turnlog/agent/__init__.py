"""A console client that runs a loop around the Messages API and writes sessions in Claude Code's format."""
