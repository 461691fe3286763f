"""The outbox: spans stay on disk until the backend has them."""
