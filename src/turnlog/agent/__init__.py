"""A console client that runs an agent loop on the Messages API and writes sessions in Claude Code's format."""
