"""Decides what the model may do: rules, modes and trust, as in Claude Code's settings."""
