"""Text for the model other than the person's prompts: instructions, surroundings, project memory, sub-agent types."""
