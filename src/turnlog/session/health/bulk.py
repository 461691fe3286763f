"""Symptoms in size: results of megabytes, and files that are mostly reports of progress."""

from __future__ import annotations

from typing import Any

from turnlog.session.graph import holds_result
from turnlog.session.health.symptoms import Spot, Symptoms
from turnlog.session.session import Session

GIANT = 1 << 20
"""A result of so many bytes, images aside, is giant."""
BLOAT = 1 << 20
"""Below so many bytes of progress nobody minds."""


def results(session: Session, found: Symptoms) -> None:
    """Results that make every resume slow."""
    for row in session.entries:
        if row.type == "user" and row.size > GIANT and holds_result(row):
            body = session.body(row)
            size = letters(body.get("message")) + letters(body.get("toolUseResult"))
            if size > GIANT:
                text = "a result of more than a megabyte"
                found.add("giant-result", "warning", text, [Spot(row, detail=f"{size / GIANT:.1f} MB")])


def letters(value: Any) -> int:
    """How many letters the texts of a JSON value have, those of images aside."""
    total, todo = 0, [value]
    while todo:
        inner = todo.pop()
        if isinstance(inner, str):
            total += len(inner)
        elif isinstance(inner, list):
            todo += inner
        elif isinstance(inner, dict) and inner.get("type") not in ("base64", "image"):
            todo += inner.values()
    return total


def progress(session: Session, found: Symptoms) -> None:
    """Files of which reports of progress are the larger part."""
    rows = [entry for entry in session.file.entries if entry.type == "progress"]
    size, whole = sum(row.size for row in rows), sum(entry.size for entry in session.file.entries)
    if size >= BLOAT and size * 2 >= whole:
        text = f"{size / BLOAT:.1f} of {whole / BLOAT:.1f} MB are reports of progress"
        found.add_items("progress-bloat", "warning", text, rows)
