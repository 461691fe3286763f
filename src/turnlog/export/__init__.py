"""Exports sessions: one module per format, all based on the same views."""
