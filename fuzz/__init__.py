"""Fuzzers that feed arbitrary bytes to the reader. Run them from a checkout."""
