"""Shorten the texts of older turns, and summarise them."""
