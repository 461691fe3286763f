"""The page that shows where tokens, money and time went."""
