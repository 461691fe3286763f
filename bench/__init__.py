"""Benchmarks, and the generator of the sessions they read."""
