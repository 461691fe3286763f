"""Decides what the model may do based on rules, modes and trust, as in Claude Code's settings."""
