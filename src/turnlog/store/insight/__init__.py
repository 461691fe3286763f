"""Queries of commands and pages on the index: lists, trees, tools, files."""
