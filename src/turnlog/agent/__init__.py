"""The console client: a loop around the Messages API whose sessions are Claude Code's own."""
