"""Symptoms in size: results of megabytes, and files that are mostly reports of progress."""

from __future__ import annotations

from typing import Any

from turnlog.session.graph import holds_result
from turnlog.session.health.symptoms import Symptoms, SymptomSpot
from turnlog.session.session import Session

GIANT_RESULT_BYTES = 1 << 20
"""A result of so many bytes, images aside, is giant."""
MIN_BLOAT_BYTES = 1 << 20
"""Below so many bytes of progress nobody minds."""


def detect_giant_results(session: Session, found: Symptoms) -> None:
    """Results that make every resume slow."""
    for row in session.entries:
        if row.type == "user" and row.size > GIANT_RESULT_BYTES and holds_result(row):
            body = session.read_body(row)
            size = count_letters_without_images(body.get("message")) + count_letters_without_images(
                body.get("toolUseResult")
            )
            if size > GIANT_RESULT_BYTES:
                text = "a result of more than a megabyte"
                found.add(
                    "giant-result", "warning", text, [SymptomSpot(row, detail=f"{size / GIANT_RESULT_BYTES:.1f} MB")]
                )


def count_letters_without_images(value: Any) -> int:
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


def detect_progress_bloat(session: Session, found: Symptoms) -> None:
    """Files of which reports of progress are the larger part."""
    rows = [entry for entry in session.file.entries if entry.type == "progress"]
    size, whole = sum(row.size for row in rows), sum(entry.size for entry in session.file.entries)
    if size >= MIN_BLOAT_BYTES and size * 2 >= whole:
        text = f"{size / MIN_BLOAT_BYTES:.1f} of {whole / MIN_BLOAT_BYTES:.1f} MB are reports of progress"
        found.add_items("progress-bloat", "warning", text, rows)
