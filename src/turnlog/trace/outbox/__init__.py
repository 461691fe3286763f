"""The outbox: keeps spans on disk until the backend has received them."""
