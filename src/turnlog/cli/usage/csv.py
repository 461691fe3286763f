"""A report of usage as CSV, for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from turnlog.cli.terminal import to_visible_line
from turnlog.store.usage.document import (
    USAGE_QUALITIES,
    UsageReportDetails,
    to_all_calls_document,
    to_amounts_document,
    to_tool_document,
    to_usage_row_document,
)
from turnlog.store.usage.sums import UsageSum

LABEL_COLUMNS = {
    "daily": ("day",),
    "weekly": ("week",),
    "monthly": ("month",),
    "session": ("session_id", "project", "title", "gone"),
    "project": ("project", "sessions"),
    "model": ("model",),
    "tool": ("tool",),
    "blocks": ("start", "end", "open"),
}


def render_usage_csv(shown: UsageReportDetails) -> Iterator[bytes]:
    """A report as CSV (RFC 4180), without the total."""
    labels = LABEL_COLUMNS[shown.request.kind]
    if shown.request.kind == "tool":
        rows: Iterable[dict[str, Any]] = map(to_tool_document, shown.report.tools)
        names = ["tool", *to_all_calls_document(shown)]
    else:
        rows = ({**to_usage_row_document(row), **to_usage_row_document(row)["quality"]} for row in shown.report.rows)
        names = [*labels, *(name for name in to_amounts_document(UsageSum()) if name != "quality"), *USAGE_QUALITIES]
    yield _encode_record(names)
    for row in rows:
        yield _encode_record([row[name] for name in names])


def _encode_record(cells: list[Any]) -> bytes:
    return (",".join(map(_format_cell, cells)) + "\r\n").encode("utf-8", "backslashreplace")


def _format_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.12f}".rstrip("0").rstrip(".")
    if not isinstance(value, str):
        return str(value)
    text = to_visible_line(value)
    # A spreadsheet takes such a cell for a formula, and titles and paths are what strangers wrote.
    if text.startswith(("=", "+", "-", "@")):
        text = "'" + text
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"') else text
