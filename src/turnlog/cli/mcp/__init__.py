"""`turnlog mcp`: the MCP server, and its entry in Claude Code's configuration."""
