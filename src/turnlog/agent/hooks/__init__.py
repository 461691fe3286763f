"""Hooks: commands and callbacks that run at certain moments of a session and can block, change or add to them."""
