"""Packs sessions with everything that belongs to them into one file, and unpacks them."""
