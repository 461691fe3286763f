"""How the index is made and kept true."""
