"""Usage: `usage`, `tools`, `context`."""
