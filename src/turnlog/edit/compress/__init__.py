"""Making the texts of older turns shorter, and summing them up."""
