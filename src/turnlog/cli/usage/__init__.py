"""What was used: `usage`, `tools`, `context`."""
