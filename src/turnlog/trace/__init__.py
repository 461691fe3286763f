"""Session -> spans -> outbox -> tracing backends: sends each span once, when it is final, with ids from the transcript.

    spans/                 session -> spans: which exist, what they contain, and when they are final
    wire/                  spans -> OTLP -> HTTP
    targets/               where to send them, from the environment or by name
    outbox/                what is waiting on disk, and its delivery
    harvest, session_tail  from a file to the outbox
    hook … recovery        in the background: the hook that Claude Code runs, and the worker that it starts

docs/design/005-trace.md explains the design.
"""
