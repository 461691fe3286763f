"""Print mode: one prompt, or those of a program, answered on standard output."""
