"""Bytes <-> entries: what stands in a session file, without saying what it means."""
