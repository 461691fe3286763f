"""Bytes <-> entries: reads and writes session files without interpreting them."""
