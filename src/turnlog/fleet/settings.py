"""What all tasks of one build have in common, and the columns that a lake adds to every table."""

from __future__ import annotations

from typing import NamedTuple

from turnlog.export.table_columns import TABLE_COLUMNS

LAKE_COLUMNS = {
    "file": "number",
    "session_key": "number",
    "person": "text",
    "team": "text",
    "project": "text",
    "month": "text",
}
"""The columns that come before those of an exported table."""
TASK_BYTES = 64 << 20
"""How much of the source one task reads, unless a single file is larger."""
SPLIT_BYTES = 256 << 20
"""Files of at least this size are read in parts of this size, for the tables with a row for each entry."""


class BuildSettings(NamedTuple):
    source: str
    lake: str
    is_redacted: bool = True
    has_text: bool = True
    """Whether the lake contains what people, models and tools wrote."""
    task_bytes: int = TASK_BYTES
    split_bytes: int = SPLIT_BYTES


TEXT_COLUMNS = {
    "sessions": ("title", "tag"),
    "messages": ("text", "thinking"),
    "calls": ("input", "result", "path"),
    "entries": ("json",),
}
"""The columns that stay empty if the lake contains no text."""


def list_lake_schemas() -> dict[str, dict[str, str]]:
    """List the columns of each table of a lake, with their types."""
    return {table: {**LAKE_COLUMNS, **columns} for table, columns in TABLE_COLUMNS.items()}
