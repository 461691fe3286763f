"""What the client would go on from, and what it would send."""
