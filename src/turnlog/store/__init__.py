"""All sessions on a machine: the index, queries on it, and the archive.

    store, schema.sql      opens, creates and rebuilds the index
    index/                 builds the index and keeps it up to date
    search/                searches the index, and the files themselves
    usage/, insight/       answer commands and pages: tokens and costs; lists, trees, tools, files
    timelines/             stored timelines, so that opening a session doesn't read all of it
    archive/               compressed copies of whole sessions; independent of the index
    client_settings        hooks in Claude Code's settings, for the archive and for tracing

docs/design/002-store.md explains the design.
"""
