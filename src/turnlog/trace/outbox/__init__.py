"""The outbox: what is to be sent stays on disk until the backend has it."""
