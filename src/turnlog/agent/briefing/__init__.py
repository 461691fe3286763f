"""What the model is told beyond a person's words: its work, its surroundings, project memory, kinds of sub-agents."""
