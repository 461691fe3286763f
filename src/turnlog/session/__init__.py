"""The meaning of entries: graph, messages, turns, calls, usage, and what the client would resume.

    session, open, session_lookup   one object that caches the views; lookup of a session by path, id, title or `last`
    graph, messages, calls …        the views themselves, one module each
    resume/                         where the client would continue, and what it would send
    timeline/                       a session in reading order, and parts of it
    texts/                          one pass over a file: its searchable text and its topic
    usage/, window/                 tokens and cost; what fills the context window, and what can be removed
    files/                          the files that a session read and changed
    check                           what is wrong with a session

docs/design/001-foundation.md explains the design.
"""
