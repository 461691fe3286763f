"""What commands ask of the index: lists, trees, tools, files."""
