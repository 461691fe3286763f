"""How the index is built and kept up to date."""
