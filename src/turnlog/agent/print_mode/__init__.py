"""Print mode: answer one prompt, or those of a program, on standard output."""
