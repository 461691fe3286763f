"""Makes sessions that continue from a different point, in a different form, or with a different model."""
