"""Makes sessions that continue from a different point, in a different format, or with a different model."""
