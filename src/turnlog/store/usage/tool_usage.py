"""Counts calls by tool: all calls, failed calls, and the length of their inputs and results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.errors import UsageError
from turnlog.store.project_folders import load_session_folders
from turnlog.store.usage.time_zones import TimeZone, format_day
from turnlog.store.usage.usage_reports import UsageRequest, build_spend_filter, list_clock_stretches
from turnlog.store.usage.usage_series import UsagePoint
from turnlog.store.usage.usage_slices import UsageSlice, is_in_hours
from turnlog.store.usage.usage_sums import ToolUsageRow

if TYPE_CHECKING:
    from datetime import date

    import apsw

_CLOCK_STEP_SECONDS = 15 * 60
"""Every time zone's day starts at a multiple of this."""
# A file may have been copied before the result arrived: a call is answered if any file has the answer.
_ONCE_QUERY = """
    SELECT min(tool) AS tool, min(started) AS started, min(ended) AS ended, max(failed) AS failed, max(given) AS given,
        max(got) AS got, min(file) AS file
    FROM (SELECT * FROM call WHERE tool IS NOT NULL {which}) GROUP BY id
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


class CallOutcomes(NamedTuple):
    """Calls to one tool in one session."""

    calls: int = 0
    failed: int = 0


def count_calls_by_session(db: apsw.Connection, wanted: UsageSlice) -> dict[int, CallOutcomes]:
    """Count the calls to a slice's tool, or to all tools, each once, by session; calls have no model."""
    which, values = _build_call_condition(db, wanted.request._replace(model=None))
    rows = db.execute(
        "SELECT coalesce(unixepoch(called.started) / 3600, -1), file.session, count(*), sum(called.failed IS 1) FROM"
        f" ({_ONCE_QUERY.format(which=which)}) AS called JOIN file ON file.id = called.file"
        " WHERE (? = '' OR tool = (SELECT id FROM name WHERE kind = 'tool' AND text = ?))"
        f"{_build_day_condition(wanted.request, 'called.started')} GROUP BY 1, 2",
        (*values, wanted.tool, wanted.tool),
    )
    stretches = list_clock_stretches(db, wanted.request.zone)
    folders = load_session_folders(db) if wanted.folder else {}
    counts: dict[int, CallOutcomes] = {}
    for hour, session, calls, failed in rows:
        if is_in_hours(hour, wanted, stretches) and (not wanted.folder or folders.get(session) == wanted.folder):
            before = counts.get(session, CallOutcomes())
            counts[session] = CallOutcomes(before.calls + calls, before.failed + failed)
    return counts


def list_call_points(db: apsw.Connection, request: UsageRequest) -> list[UsagePoint]:
    """Count calls, each once, by day, session and tool; calls whose time is unknown are left out."""
    which, values = _build_call_condition(db, request._replace(model=None))
    rows = db.execute(
        f"SELECT unixepoch(called.started) / {_CLOCK_STEP_SECONDS} AS step, file.session, name.text, count(*) FROM"
        f" ({_ONCE_QUERY.format(which=which)}) AS called JOIN file ON file.id = called.file"
        " JOIN name ON name.id = called.tool WHERE step IS NOT NULL"
        f"{_build_day_condition(request, 'called.started')} GROUP BY 1, 2, 3",
        values,
    )
    folders = load_session_folders(db)
    counts: Counter[tuple[int, int, str]] = Counter()
    for step, session, tool, calls in rows:
        counts[request.zone.to_day(step * _CLOCK_STEP_SECONDS), session, tool] += calls
    return [
        UsagePoint(format_day(day), session, str(folders.get(session)), "", 0, 0, 0, tool, calls)
        for (day, session, tool), calls in counts.items()
    ]


def list_tool_times(db: apsw.Connection, request: UsageRequest) -> dict[str, list[float]]:
    """List how long the answered calls to each tool took, in milliseconds."""
    from turnlog.session.call_times import find_working_time, is_launch  # `usage --help` needs no decoders

    which, values = _build_call_condition(db, request)
    times: dict[str, list[float]] = {}
    query = (
        "SELECT (SELECT text FROM name WHERE id = tool), (julianday(ended) - julianday(started)) * 86400000.0 AS took"
        f" FROM ({_ONCE_QUERY.format(which=which)}) WHERE started GLOB '[0-9][0-9][0-9][0-9]-*' AND took >= -0.5"
    )
    for tool, took in db.execute(query + _build_day_condition(request), values):
        time = find_working_time(tool, float(max(round(took), 0)))
        if time is not None and not is_launch(tool, time):
            times.setdefault(tool, []).append(time)
    return times


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


def _build_day_condition(request: UsageRequest, column: str = "started") -> str:
    """Build the condition on days; call times are stored as Claude Code writes them, in UTC, and sort as text."""
    parts = ""
    if request.since is not None:
        parts += f" AND {column} >= '{_to_client_time(request.zone, request.since)}'"
    if request.until is not None:
        parts += f" AND {column} < '{_to_client_time(request.zone, request.until, 1)}'"
    return parts


def _to_client_time(zone: TimeZone, day: date, further: int = 0) -> str:
    from datetime import UTC, date, datetime

    begins = zone.find_day_start(date.fromordinal(min(day.toordinal() + further, date.max.toordinal())))
    return datetime.fromtimestamp(max(begins, 0), UTC).isoformat()[:19]
