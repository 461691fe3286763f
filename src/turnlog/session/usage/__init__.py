"""Tokens and money."""
