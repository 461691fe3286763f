"""What happens now, as it happens."""
