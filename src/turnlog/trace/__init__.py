"""Session -> spans -> outbox -> tracing backends: each span once, when it is final, with ids from the transcript.

    spans/             session -> spans: which there are, what they say, when they are final
    wire/              spans -> OTLP -> HTTP
    targets/           where to, by the environment or by name
    outbox/            what waits on disk, and its delivery
    harvest, reading   from a file to the outbox
    hook … recovery    in the background: what the client starts, and what that leaves to be done

Why it is so: docs/design/005-trace.md.
"""
