"""The tools of the model, one per file, with Claude Code's names, inputs, result texts and structured results."""
