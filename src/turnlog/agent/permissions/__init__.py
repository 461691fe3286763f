"""What the model may do: rules, modes and trust, as Claude Code's settings have them."""
