"""Where spans are sent: addresses, credentials, and how much content they may include."""
