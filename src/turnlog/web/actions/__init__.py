"""What a page may let the program do."""
