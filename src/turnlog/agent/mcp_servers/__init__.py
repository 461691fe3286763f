"""MCP servers: which ones a session uses, the connections to them, and their tools, prompts and resources."""
