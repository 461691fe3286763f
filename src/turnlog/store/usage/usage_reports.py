"""The request for a usage report, the report itself, and the rows of `spend` that it includes.

`groupings` defines what the rows are grouped by.
"""

from __future__ import annotations

import time
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.errors import UsageError
from turnlog.store.session_counts import count_sessions
from turnlog.store.usage.time_zones import DAY_SECONDS, ClockStretch, TimeZone, format_day, parse_day, to_day_number
from turnlog.store.usage.usage_sums import SpendFilter, UsageSum

if TYPE_CHECKING:
    import apsw

    from turnlog.store.usage.usage_sums import ToolUsageRow

_EXACT_SPEND_TABLE = "temp.exact_spend"


class UsageRequest(NamedTuple):
    """The options of a usage report."""

    kind: str = "daily"
    """The name of a grouping."""
    since: date | None = None
    until: date | None = None
    """The last day to include."""
    project: str | None = None
    model: str | None = None
    zone: TimeZone = TimeZone()
    now: float = 0.0
    """In seconds since 1970; decides which block is open."""


def parse_usage_request(
    kind: str = "daily",
    since: str | None = None,
    until: str | None = None,
    project: str | None = None,
    model: str | None = None,
    timezone: str | None = None,
) -> UsageRequest:
    """Parse the options of a report; raise `UsageError` for values that can't be parsed."""
    zone = TimeZone(timezone)
    now = time.time()

    def today() -> date:
        return date.fromisoformat(format_day(zone.to_day(int(now))))

    first = parse_day(since, "--since", today) if since is not None else None
    last = parse_day(until, "--until", today) if until is not None else None
    if first and last and first > last:
        raise UsageError(f"--since {first} is after --until {last}, so the period is empty")
    return UsageRequest(kind, first, last, project, model, zone, now)


class UsageReportRow(NamedTuple):
    labels: dict[str, Any]
    """The labels of the row, by key."""
    sum: UsageSum
    whole: UsageSum | None = None
    """For a session: all its usage, at any time, including messages that are charged to another session."""


class UsageReport(NamedTuple):
    """The rows of a report and their total."""

    rows: list[UsageReportRow]
    total: UsageSum
    sessions: int
    """How many sessions the report covers: all of them, or those with usage in the requested part."""
    gone: int
    """How many of these no longer have a file."""
    with_usage: int = 0
    """How many sessions have usage in the report, including sub-agents without a main transcript."""
    tools: tuple[ToolUsageRow, ...] = ()
    """The rows of the report by tool."""


def build_usage_scope(
    db: apsw.Connection, request: UsageRequest, *, is_by_day: bool = False
) -> tuple[SpendFilter, list[ClockStretch]]:
    """Return the filter for the rows to include, and their clock offsets; `is_by_day` is for reports by day."""
    stretches = list_clock_stretches(db, request.zone)
    wanted = build_spend_filter(db, request)
    if (is_by_day or request.since or request.until) and any(stretch.offset % 3600 for stretch in stretches):
        return _fill_exact_spend(db, wanted, request, stretches)
    if request.since is not None:
        wanted = wanted.with_condition("hour >= ?", request.zone.find_day_start(request.since) // 3600)
    if request.until is not None:
        wanted = wanted.with_condition("hour < ?", request.zone.find_day_start(_get_next_day(request.until)) // 3600)
    return (wanted.with_condition("hour >= 0") if request.until else wanted), stretches


def list_clock_stretches(db: apsw.Connection, zone: TimeZone) -> list[ClockStretch]:
    """List the clock offsets of a zone over the period of all messages."""
    first, last = db.execute("SELECT min(hour), max(hour) FROM spend WHERE hour >= 0").fetchone() or (0, 0)
    return zone.list_stretches(first or 0, last or 0)


def build_spend_filter(db: apsw.Connection, request: UsageRequest) -> SpendFilter:
    """Build the filter for a project and a model."""
    wanted = SpendFilter()
    if request.project is not None:
        ids = _match_numbers(db, "project", request.project)
        sessions = "SELECT id FROM session WHERE project IN (SELECT value FROM json_each(?))"
        wanted = wanted.with_condition(f"session IN ({sessions})", ids)
    if request.model is not None:
        wanted = wanted.with_condition(
            "model IN (SELECT value FROM json_each(?))", _match_numbers(db, "model", request.model)
        )
    return wanted


def _match_numbers(db: apsw.Connection, kind: str, value: str) -> str:
    """Return the ids that a value matches, as JSON."""
    from turnlog.store.filter_values import build_unknown_error, match_names, require_projects

    if kind == "project":
        return str(require_projects(db, value))
    match = match_names(db, kind, value)
    if not match.ids:
        raise build_unknown_error(kind, value, match.closest)
    return str(match.ids)


def _fill_exact_spend(
    db: apsw.Connection, wanted: SpendFilter, request: UsageRequest, stretches: list[ClockStretch]
) -> tuple[SpendFilter, list[ClockStretch]]:
    """Build an exact table for zones whose days start in the middle of a UTC hour: `spend` counts whole hours."""
    from turnlog.store.index.spend_table import fill_spend_table

    zone = request.zone
    hours = [hour for (hour,) in db.execute("SELECT DISTINCT hour FROM spend WHERE hour >= 0")]
    split = [hour for hour in hours if zone.to_day(hour * 3600) != zone.to_day(hour * 3600 + 3599)]
    query = "SELECT DISTINCT session FROM spend WHERE hour IN (SELECT value FROM json_each(?))"
    sessions = [session for (session,) in db.execute(query, (str(split),))]
    db.execute(f"DROP TABLE IF EXISTS {_EXACT_SPEND_TABLE}")
    db.execute(
        (
            f"CREATE TABLE {_EXACT_SPEND_TABLE} AS SELECT * FROM spend WHERE session NOT IN (SELECT value FROM "
            f"json_each(?))"
        ),
        (str(sessions),),
    )
    db.execute(f"UPDATE {_EXACT_SPEND_TABLE} SET hour = {build_day_expression(stretches)} * 24 WHERE hour >= 0")
    fill_spend_table(db, _EXACT_SPEND_TABLE, sessions, lambda seconds: zone.to_day(seconds) * 24)
    exact = SpendFilter(_EXACT_SPEND_TABLE, wanted.conditions, wanted.values)
    if request.since is not None:
        exact = exact.with_condition("hour >= ?", to_day_number(request.since) * 24)
    if request.until is not None:
        exact = exact.with_condition("hour BETWEEN 0 AND ?", to_day_number(request.until) * 24)
    return exact, [ClockStretch(0, 0)]


def _get_next_day(day: date) -> date:
    return date.fromordinal(min(day.toordinal() + 1, date.max.toordinal()))


def build_day_expression(stretches: list[ClockStretch]) -> str:
    """Build the SQL expression for the day of an hour, in days since 1970, with one case per clock change."""
    cases = "".join(f" WHEN hour < {after.hour} THEN {at.offset}" for at, after in pairwise(stretches))
    last = stretches[-1].offset
    return f"(hour * 3600 + {f'CASE{cases} ELSE {last} END' if cases else last}) / {DAY_SECONDS}"


def count_report_sessions(db: apsw.Connection, wanted: SpendFilter) -> tuple[int, int, int]:
    """Count the sessions in a report, those without a file, and those that have usage in it."""
    with_usage, gone = db.execute(
        "SELECT count(*), coalesce(sum(session NOT IN (SELECT session FROM file WHERE gone IS NULL)), 0)"
        f" FROM (SELECT DISTINCT session {wanted.sql})",
        wanted.values,
    ).fetchone() or (0, 0)
    sessions = with_usage if wanted.conditions else count_sessions(db).sessions
    return sessions, gone, with_usage
