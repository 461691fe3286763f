"""Where spans are sent: addresses, credentials and how much they may tell."""
