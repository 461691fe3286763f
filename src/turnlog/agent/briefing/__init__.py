"""Text for the model besides the person's prompts: instructions, surroundings, project memory and sub-agent types."""
