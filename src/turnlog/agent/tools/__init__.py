"""What the model can do: one tool a file, with Claude Code's names, inputs, result texts and structured results."""
