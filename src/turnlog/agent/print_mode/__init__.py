"""Print mode: answers a single prompt, or prompts from a program, on standard output."""
