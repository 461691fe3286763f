"""A report of usage for programs: as a JSON document, and as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.store.usage.sums import PICO, Sum

if TYPE_CHECKING:
    from turnlog.store.usage.calls import ToolRow
    from turnlog.store.usage.reports import Report, Request, Row

QUALITIES = ("final", "partial", "placeholder", "missing")
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


class Shown(NamedTuple):
    """A report, and what it was made from."""

    request: Request
    report: Report
    prices: str | None
    """The day of the price table."""
    is_indexed: bool = True
    """Whether it comes out of the index; else the files were scanned, which tells nothing of calls and letters."""
    is_demo: bool = False


def document(shown: Shown) -> dict[str, Any]:
    """A report as a JSON document."""
    request, report = shown.request, shown.report
    is_tool = request.kind == "tool"
    total = {"calls": _all_calls(shown)} if is_tool else {}
    return {
        "kind": request.kind,
        "definition": definition(shown),
        "timezone": request.zone.name,
        "since": request.since and request.since.isoformat(),
        "until": request.until and request.until.isoformat(),
        "project": request.project,
        "model": request.model,
        "prices": shown.prices,
        "sessions": report.sessions,
        "gone_sessions": report.gone,
        "demo": shown.is_demo,
        "rows": [_tool(row) for row in report.tools] if is_tool else [_row(row) for row in report.rows],
        "total": {**amounts(report.total), **total},
    }


def _row(row: Row) -> dict[str, Any]:
    labels = dict(row.labels)
    if "start" in labels:
        labels["start"], labels["end"] = moment(labels["start"]), moment(labels["end"])
        labels["pace"] = labels["pace"] and labels["pace"]._asdict()
    return {**labels, **amounts(row.sum)}


def amounts(found: Sum) -> dict[str, Any]:
    """A sum under the names that the API has for its parts."""
    return {
        "messages": found.messages,
        "input_tokens": found.input,
        "output_tokens": found.output,
        "cache_read_input_tokens": found.cache_read,
        "cache_creation_input_tokens": found.cache_write,
        "cache_creation_5m": found.cache_write_5m,
        "cache_creation_1h": found.cache_write_1h,
        "web_searches": found.searches,
        "cost_usd": found.cost / PICO,
        "cache_saved_usd": found.saved / PICO,
        "unpriced_tokens": found.unpriced,
        "quality": {name: getattr(found, name) for name in QUALITIES},
        "estimated_further_output_tokens": found.estimate,
        "first": moment(found.first),
        "last": moment(found.last),
    }


def _tool(row: ToolRow) -> dict[str, Any]:
    return {"tool": row.tool, **_calls(row)}


def _all_calls(shown: Shown) -> dict[str, Any]:
    from turnlog.store.usage.calls import all_tools

    return _calls(all_tools(shown.report.tools))


def _calls(row: ToolRow) -> dict[str, Any]:
    return {
        "calls": row.calls,
        "failed": row.failed,
        "unanswered": row.unanswered,
        "input_characters": row.given,
        "result_characters": row.got,
        "estimated_tokens": row.tokens,
    }


def moment(seconds: int | None) -> str | None:
    """A time as the client writes it."""
    if seconds is None:
        return None
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def definition(shown: Shown) -> str:
    """What is counted, in words."""
    request = shown.request
    if request.kind == "tool":
        return (
            "Counted: calls of tools, sub-agents included, every call id once; characters of inputs and results;"
            " tokens are an estimate (four characters a token)."
        )
    place = "this machine's time zone" if request.zone.name == "local" else request.zone.name
    span = {
        "daily": f", on the day on which it ended ({place})",
        "weekly": f", in the week (from Monday) in which it ended ({place})",
        "monthly": f", in the month in which it ended ({place})",
        "session": ", in the session that has it first",
        "project": ", in the project of the session that has it first",
        "blocks": "; a block begins at the full hour of its first message and lasts five hours",
    }.get(request.kind, "")
    return (
        f"Counted: every message once, sub-agents included{span}. Cost: at list prices of {shown.prices or 'no date'};"
        " saved: what the cache spared, against the price of plain input."
    )


def csv_lines(shown: Shown) -> Iterator[bytes]:
    """A report as CSV (RFC 4180), without the total."""
    labels = LABELS[shown.request.kind]
    if shown.request.kind == "tool":
        rows: Iterable[dict[str, Any]] = map(_tool, shown.report.tools)
        names = ["tool", *_all_calls(shown)]
    else:
        rows = ({**_row(row), **_row(row)["quality"]} for row in shown.report.rows)
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
    text = " ".join(value.split())
    # A spreadsheet takes such a cell for a formula, and titles and paths are what strangers wrote.
    if text.startswith(("=", "+", "-", "@")):
        text = "'" + text
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"') else text
