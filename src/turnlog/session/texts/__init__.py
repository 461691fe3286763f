"""Reads a file in one pass: its lines, their searchable text, and its topic."""
