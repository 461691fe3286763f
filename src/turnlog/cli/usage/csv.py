"""A report of usage as CSV, for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from turnlog.cli.terminal import line
from turnlog.store.usage.document import QUALITIES, Shown, all_calls, amounts, row_document, tool_document
from turnlog.store.usage.sums import Sum

LABELS = {
    "daily": ("day",),
    "weekly": ("week",),
    "monthly": ("month",),
    "session": ("session_id", "project", "title", "gone"),
    "project": ("project", "sessions"),
    "model": ("model",),
    "tool": ("tool",),
    "blocks": ("start", "end", "open"),
}


def csv_lines(shown: Shown) -> Iterator[bytes]:
    """A report as CSV (RFC 4180), without the total."""
    labels = LABELS[shown.request.kind]
    if shown.request.kind == "tool":
        rows: Iterable[dict[str, Any]] = map(tool_document, shown.report.tools)
        names = ["tool", *all_calls(shown)]
    else:
        rows = ({**row_document(row), **row_document(row)["quality"]} for row in shown.report.rows)
        names = [*labels, *(name for name in amounts(Sum()) if name != "quality"), *QUALITIES]
    yield _record(names)
    for row in rows:
        yield _record([row[name] for name in names])


def _record(cells: list[Any]) -> bytes:
    return (",".join(map(_cell, cells)) + "\r\n").encode("utf-8", "backslashreplace")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.12f}".rstrip("0").rstrip(".")
    if not isinstance(value, str):
        return str(value)
    text = line(value)
    # A spreadsheet takes such a cell for a formula, and titles and paths are what strangers wrote.
    if text.startswith(("=", "+", "-", "@")):
        text = "'" + text
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"') else text
