"""Commands that count: `usage`, `tools` and `context`."""
