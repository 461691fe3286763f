"""A report of usage for programs: as a JSON document, with what is counted in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.store.usage.sums import PICO, Sum

if TYPE_CHECKING:
    import apsw

    from turnlog.store.usage.calls import ToolRow
    from turnlog.store.usage.reports import Report, Request, Row

QUALITIES = ("final", "partial", "placeholder", "missing")


class Shown(NamedTuple):
    """A report, and what it was made from."""

    request: Request
    report: Report
    prices: str | None
    """The day of the price table."""
    is_indexed: bool = True
    """Whether it comes out of the index; else the files were scanned, which tells nothing of calls and letters."""
    is_demo: bool = False


def shown(db: apsw.Connection, request: Request, *, is_demo: bool = False) -> Shown:
    """A report out of an index; where prices or rules are newer than its sums, these are made again first."""
    from turnlog.store.index.pricing import is_current, price_date
    from turnlog.store.usage.reports import report

    if not is_current(db):
        from turnlog.store.index.spend import renew
        from turnlog.store.lock import writing

        with writing(db):
            renew(db, None)
    return Shown(request, report(db, request), price_date(db), is_demo=is_demo)


def document(shown: Shown) -> dict[str, Any]:
    """A report as a JSON document."""
    request, report = shown.request, shown.report
    is_tool = request.kind == "tool"
    total = {"calls": all_calls(shown)} if is_tool else {}
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
        "sessions_with_usage": report.with_usage,
        "demo": shown.is_demo,
        "rows": [tool_document(row) for row in report.tools] if is_tool else [row_document(row) for row in report.rows],
        "total": {**amounts(report.total), **total},
    }


def row_document(row: Row) -> dict[str, Any]:
    """A row of sums under the names of the document."""
    labels = dict(row.labels)
    if "start" in labels:
        labels["start"], labels["end"] = moment(labels["start"]), moment(labels["end"])
        labels["pace"] = labels["pace"] and labels["pace"]._asdict()
    found = {**labels, **amounts(row.sum)}
    return found if row.whole is None else {**found, "whole": amounts(row.whole)}


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


def tool_document(row: ToolRow) -> dict[str, Any]:
    """The calls of a tool under the names of the document."""
    return {"tool": row.tool, **_calls(row)}


def all_calls(shown: Shown) -> dict[str, Any]:
    """The calls of all tools together."""
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
