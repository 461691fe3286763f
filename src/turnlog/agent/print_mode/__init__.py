"""Print mode: answers one prompt, or those from a program, on standard output."""
