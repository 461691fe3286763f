"""The quest in the terminal: pixels as half blocks, and what words say better as lines."""
