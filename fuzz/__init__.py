"""Fuzzing: programs that try the reader on bytes nobody thought of. They run from a checkout."""
