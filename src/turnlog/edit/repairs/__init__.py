"""The repairs: one module for each family of illnesses, each repair a pure function of a case."""
