"""Where tokens, money and time went."""
