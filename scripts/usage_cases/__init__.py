"""The cases of the conformance set in tests/data/usage, and the adapters that run a tool on them."""
