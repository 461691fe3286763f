"""Session -> spans -> outbox -> tracing backends: each span once, when it is final, with ids from the transcript.

    what was done      stream, stretches, reports, timing, ids -> spans
    what it says       parts, content, usage -> attributes -> span
    the wire           otlp, protobuf, batch; target, targets, variables, address; post, replies
    what waits         outbox, outgoing, ledger, standing; delivery
    from a file to it  harvest, reading, finished
    in the background  hook, wakes, worker, ending, recovery, trouble; install

Why it is so: docs/design/005-trace.md.
"""
