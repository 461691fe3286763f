"""A small index with calls that a test puts into it."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import apsw


def sample() -> apsw.Connection:
    """An index of two sessions of one file each, the first with a sub-agent's file besides; no calls yet."""
    found = apsw.Connection(":memory:")
    found.execute((files("turnlog.store") / "schema.sql").read_text(encoding="utf-8"))
    found.execute("INSERT INTO name VALUES (1, 'tool', 'Bash'), (2, 'tool', 'Read'), (3, 'project', '-home-dana')")
    found.execute("INSERT INTO session VALUES (1, 3, 'first'), (2, 3, 'second')")
    found.execute(
        "INSERT INTO file (id, path, kind, session, started) VALUES"
        " (1, '/p/first.jsonl', 'session', 1, '2026-01-01'), (2, '/p/second.jsonl', 'session', 2, '2026-01-02'),"
        " (3, '/p/agent.jsonl', 'agent', 1, '2026-01-01')"
    )
    return found


def call(
    db: apsw.Connection, key: str, file: int = 1, tool: int = 1, seconds: Any = 1, failed: Any = 0, **more: Any
) -> None:
    """Put a call into it that took so many seconds; None: it was never answered."""
    row = {
        "started": "2026-01-01T10:00:00.000Z",
        "ended": None if seconds is None else f"2026-01-01T10:00:{seconds:06.3f}Z",
        "given": 8,
        "got": None if seconds is None else 40,
        "path": None,
    } | more
    db.execute(
        "INSERT INTO call (id, file, tool, started, ended, failed, given, got, path)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (key, file, tool, row["started"], row["ended"], failed, row["given"], row["got"], row["path"]),
    )
