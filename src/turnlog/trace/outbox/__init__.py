"""The outbox: keeps spans on disk until the backend has them."""
