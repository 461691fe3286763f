"""Generate a lake with millions of made-up usage rows, as a company would have after a year."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from turnlog.export.table_columns import TABLE_COLUMNS
from turnlog.fleet.project_names import build_project_key
from turnlog.fleet.settings import LAKE_COLUMNS, list_lake_schemas
from turnlog.store.lake.lake import connect_duckdb
from turnlog.store.lake.lake_files import LakeFiles
from turnlog.store.lake.snapshot import LakePart, Snapshot, commit_snapshot

PARTS = 100
MESSAGES_PER_SESSION = 200
COPIES_PER_THOUSAND = 20
"""How many of a thousand rows are copies of other rows."""
_SQL_TYPES = {"text": "VARCHAR", "number": "BIGINT", "real": "DOUBLE", "truth": "BOOLEAN", "time": "TIMESTAMPTZ"}
_SECONDS_PER_PART = 3 * 86400
_STAMP = {
    "file": "session",
    "session_key": "session",
    "person": "'p-' || lpad((session % 3000)::VARCHAR, 16, '0')",
    "team": "'team ' || session % 40",
    "project": "'{project}'",
    "month": "'{month}'",
    "session_id": "'00000000-0000-4000-8000-' || lpad(session::VARCHAR, 12, '0')",
}
_TIME = "to_timestamp({begin} + i % {seconds})"
_USAGE = {
    **_STAMP,
    "message_id": "'msg_' || CASE WHEN i % 1000 < {copies} THEN i % 1000 * 100000 + i // 10000 ELSE {start} + i END",
    "turn": "i % {messages} // 10",
    "time": _TIME,
    "ended": _TIME,
    "model": "['claude-opus-4-8', 'claude-sonnet-4-5-20250929', 'claude-haiku-4-5-20251001'][1 + i % 3]",
    "input_tokens": "i % 997",
    "output_tokens": "i % 1499",
    "cache_read_tokens": "i * 7919 % 150000",
    "cache_write_5m_tokens": "i * 31 % 9000",
    "cache_write_1h_tokens": "0",
    "web_searches": "0",
    "quality": "'final'",
    "request": "'message'",
    "lowest_output": "1",
    "stopped": "true",
    "sidechain": "false",
    "version": "'2.1.325'",
    "letters": "i % 4000",
}
_SESSIONS = {
    **_STAMP,
    "kind": "'session'",
    "file_name": "session || '.jsonl'",
    "started": "to_timestamp({begin})",
    "ended": "to_timestamp({begin} + {seconds})",
    "version": "'2.1.' || 300 + session % 25",
    "is_session": "true",
    "prompts": "{messages} // 10",
    "turns": "{messages} // 10",
    "messages": "{messages}",
    "broken": "0",
    "size": "300000",
    "unknown": "'{{}}'",
}
_SOURCES = {
    "usage": "(SELECT i, ({start} + i) // {messages} AS session FROM range({rows}) AS rows(i))",
    "sessions": "(SELECT i * {messages} AS i, {start} // {messages} + i AS session FROM range({sessions}) AS rows(i))",
}


def generate_lake(folder: Path, rows: int) -> Path:
    """Return a lake with this many rows of usage, generated on first use."""
    if not folder.exists():
        unfinished = folder.with_name(f"{folder.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        files = LakeFiles(str(unfinished), create=True)
        each = max(rows // PARTS, MESSAGES_PER_SESSION)
        connection = connect_duckdb()
        try:
            parts = tuple(_write_part(connection, unfinished, number, each) for number in range(PARTS))
        finally:
            connection.close()
        snapshot = Snapshot(1, created="2026-11-01T00:00:00+00:00", schemas=list_lake_schemas(), parts=parts)
        commit_snapshot(files, snapshot)
        unfinished.rename(folder)
    return folder


def _write_part(connection: Any, folder: Path, number: int, rows: int) -> LakePart:
    project, month = f"~/project-{number % 20}", f"2026-{1 + number // 10:02}"
    sessions = rows // MESSAGES_PER_SESSION
    counts = {"sessions": sessions, "usage": rows}
    part = LakePart(f"p-{number:032x}", month, build_project_key(project), counts, 0, sessions)
    values = {
        "project": project,
        "month": month,
        "begin": 1767225600 + number * _SECONDS_PER_PART,
        "seconds": _SECONDS_PER_PART,
        "start": number * rows,
        "rows": rows,
        "sessions": sessions,
        "messages": MESSAGES_PER_SESSION,
        "copies": COPIES_PER_THOUSAND,
    }
    for table, columns in (("usage", _USAGE), ("sessions", _SESSIONS)):
        kinds = {**LAKE_COLUMNS, **TABLE_COLUMNS[table]}
        chosen = [f"({columns.get(name, 'NULL')})::{_SQL_TYPES[kind]} AS {name}" for name, kind in kinds.items()]
        query = f"SELECT {', '.join(chosen)} FROM {_SOURCES[table]}".format(**values)
        path = folder / part.get_path(table)
        path.parent.mkdir(parents=True, exist_ok=True)
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
    return part
