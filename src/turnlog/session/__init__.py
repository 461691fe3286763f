"""Entries -> meaning: graph, messages, turns, calls, usage and what the client would resume.

    session, open, find        one object that keeps the views; a session by path, id, title or `last`
    graph, messages, calls …   the views themselves, a module each
    resume/                    what the client would go on from, and what it would send
    timeline/                  a session in the order in which it is read, and parts of it
    texts/                     one pass over a file: what can be searched, and what it is about
    usage/, window/            tokens and money; what fills the context window, and what can be taken out
    files/                     the files that it has read and changed
    health/                    what ails it

Why it is so: docs/design/001-foundation.md.
"""
