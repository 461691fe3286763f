"""What commands and pages ask of the index: lists, trees, tools, files."""
