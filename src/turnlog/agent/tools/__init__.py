"""The model's tools, one per file, with Claude Code's names, inputs, result text and structured results."""
