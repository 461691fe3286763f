"""Commands that count: `usage`, `tools`, `context`."""
