"""The tool that reports tokens and cost."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnlog.api.usage import CallAmounts, UsageTableRow, report_usage
from turnlog.mcp.pages import to_lazy_texts
from turnlog.mcp.untrusted_text import clean_line
from turnlog.render.figures import format_count

if TYPE_CHECKING:
    from turnlog.mcp.arguments import UsageArguments
    from turnlog.mcp.library import SessionLibrary

_MAX_LABEL_CHARS = 200
_BY_TIME = ("daily", "weekly", "monthly")
"""Reports whose rows are in the order of time, and not by cost; the newest come first in an answer."""


def report_scope_usage(library: SessionLibrary, arguments: UsageArguments) -> str:
    """Answer get_usage."""
    folder = library.scope.folder
    with library.open_index() as (store, remark):
        readable = {item.uuid: Path(item.path) for item in library.scope.list_indexed(store.db)}
    if not readable:
        return library.build_answer("No sessions here yet.", [], arguments, remark)
    table = report_usage(
        arguments.by,
        since=arguments.since,
        until=arguments.until,
        project=str(folder) if folder else None,
        config=library.config,
    )
    rows = [row for row in table.rows if _may_show(library, row, readable)]
    total = table.total.amounts
    sums = (
        f"total: {total.messages:,} messages, {total.output_tokens:,} tokens out, {total.input_tokens:,} in, "
        f"{total.cache_read_input_tokens:,} cache read, {total.cache_creation_input_tokens:,} cache written, "
        f"${total.cost_usd:.2f} at list prices"
        + (f", {total.unpriced_tokens:,} tokens without a known price" if total.unpriced_tokens else "")
    )
    head = f"Usage by {arguments.by}, {format_count(len(rows), 'row')}, time zone {clean_line(table.timezone, 40)}."
    ordered = reversed(rows) if arguments.by in _BY_TIME else sorted(rows, key=partial(_rank_row, library))
    items = [partial(_render_usage_row, library, row, readable) for row in ordered]
    return library.build_answer(head, [*to_lazy_texts([sums]), *items], arguments, remark)


def _rank_row(library: SessionLibrary, row: UsageTableRow) -> tuple[float, int, bytes]:
    """Return what orders rows, the largest first. The order of equal ones must not tell how their names compare."""
    amounts = row.amounts
    alike = library.shuffle_key(str(row.labels))
    if isinstance(amounts, CallAmounts):
        return -amounts.estimated_tokens, -amounts.calls, alike
    return -amounts.cost_usd, -amounts.output_tokens - amounts.input_tokens, alike


def _may_show(library: SessionLibrary, row: UsageTableRow, readable: dict[str, Path]) -> bool:
    """Return whether the labels of a row may be shown; several projects may share a folder, and so a report."""
    if library.scope.folder is None:
        return True
    if "session_id" in row.labels:
        return row.labels["session_id"] in readable
    return "project" not in row.labels or library.scope.contains_folder(_to_text(row.labels["project"]))


def _render_usage_row(library: SessionLibrary, row: UsageTableRow, paths: dict[str, Path]) -> str:
    owner = paths.get(str(row.labels.get("session_id")))
    text = " · ".join(_to_text(value) for value in row.labels.values() if value)
    label = clean_line(library.sessions.redact_label(text, [owner] if owner else []), _MAX_LABEL_CHARS)
    amounts = row.amounts
    if isinstance(amounts, CallAmounts):
        return f"{label}: {amounts.calls:,} calls, {amounts.failed:,} failed, about {amounts.estimated_tokens:,} tokens"
    cached = amounts.cache_read_input_tokens + amounts.cache_creation_input_tokens
    return (
        f"{label}: {amounts.messages:,} messages, {amounts.output_tokens:,} tokens out, "
        f"{amounts.input_tokens:,} in, {cached:,} cached, ${amounts.cost_usd:.2f}"
    )


def _to_text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
