"""Benchmarks, and the generator of what they read."""
