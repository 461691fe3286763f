"""What the server does while nobody asks."""
