"""All sessions of a machine: the index, what is asked of it, and the archive.

    store, schema.sql      the index: opened, made, renewed
    index/                 how it is made and kept true
    search/                how it, and the files themselves, are searched
    usage/, insight/       what commands and pages ask of it: tokens and money; lists, trees, tools, files
    timelines/             timelines that are kept, so that opening a session does not read it
    archive/               compressed copies of whole sessions; independent of the index
    client_settings        hooks in the client's settings, for the archive and for tracing

Why it is so: docs/design/002-store.md.
"""
