"""The cases of the conformance set in tests/data/usage, and what runs a tool on them."""
