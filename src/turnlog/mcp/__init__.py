"""The MCP server: an agent searches and reads past sessions. It never writes; secrets are redacted by default."""
