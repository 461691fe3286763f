"""Session -> spans -> outbox -> tracing backends: each span once, when it is final, with ids from the transcript."""
