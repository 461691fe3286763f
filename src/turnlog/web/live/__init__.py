"""The live pages."""
