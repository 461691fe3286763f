"""Shortens the text of older turns, and summarises them."""
