"""The work that the server does between requests."""
