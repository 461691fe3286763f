"""Removes secrets from every store that holds transcripts or parts of them."""
