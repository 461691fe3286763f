"""Where the client would continue a session, and what it would send."""
