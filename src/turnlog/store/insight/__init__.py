"""Index queries for commands and pages: lists, trees, tools and files."""
