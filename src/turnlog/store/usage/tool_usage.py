"""Counts calls by tool: all calls, failed calls, and the length of their inputs and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from turnlog.errors import UsageError
from turnlog.store.usage.time_zones import TimeZone
from turnlog.store.usage.usage_reports import UsageRequest, build_spend_filter
from turnlog.store.usage.usage_sums import ToolUsageRow

if TYPE_CHECKING:
    from datetime import date

    import apsw

# A file may have been copied before the result arrived: a call is answered if any file has the answer.
_ONCE_QUERY = """
    SELECT min(tool) AS tool, min(started) AS started, max(failed) AS failed, max(given) AS given, max(got) AS got
    FROM call WHERE tool IS NOT NULL {which} GROUP BY id
"""


def list_tool_usage(db: apsw.Connection, request: UsageRequest) -> tuple[ToolUsageRow, ...]:
    """List calls by tool, counting each call once; tools with the most text come first."""
    if request.model is not None:
        raise UsageError("--model can't filter tool calls; omit it, or choose a different report")
    which, values = _build_call_condition(db, request)
    rows = db.execute(
        "SELECT (SELECT text FROM name WHERE id = tool), count(*), sum(failed IS 1), sum(failed IS NULL),"
        f" coalesce(sum(given), 0), coalesce(sum(got), 0) FROM ({_ONCE_QUERY.format(which=which)}) WHERE true"
        f"{_build_day_condition(request)} GROUP BY tool",
        values,
    )
    usage = (ToolUsageRow(*row) for row in rows)
    return tuple(sorted(usage, key=lambda row: (-row.tokens, -row.calls, row.tool or "")))


def sum_tool_usage(rows: Sequence[ToolUsageRow]) -> ToolUsageRow:
    """Add up the calls of all tools."""
    return (
        ToolUsageRow(None, *(sum(column) for column in list(zip(*rows, strict=True))[1:]))
        if rows
        else ToolUsageRow(None)
    )


def _build_call_condition(db: apsw.Connection, request: UsageRequest) -> tuple[str, tuple[Any, ...]]:
    wanted = build_spend_filter(db, request)
    if not wanted.conditions:
        return "", ()
    return f"AND file IN (SELECT id FROM file WHERE {' AND '.join(wanted.conditions)})", wanted.values


def _build_day_condition(request: UsageRequest) -> str:
    """Build the condition on days; call times are stored as Claude Code writes them, in UTC, and sort as text."""
    parts = ""
    if request.since is not None:
        parts += f" AND started >= '{_to_client_time(request.zone, request.since)}'"
    if request.until is not None:
        parts += f" AND started < '{_to_client_time(request.zone, request.until, 1)}'"
    return parts


def _to_client_time(zone: TimeZone, day: date, further: int = 0) -> str:
    from datetime import UTC, date, datetime

    begins = zone.find_day_start(date.fromordinal(min(day.toordinal() + further, date.max.toordinal())))
    return datetime.fromtimestamp(max(begins, 0), UTC).isoformat()[:19]
