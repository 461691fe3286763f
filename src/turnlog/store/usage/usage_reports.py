"""The reports: which rows of `spend` count, what they are added up by, and what each row is called."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.store.session_counts import count_sessions
from turnlog.store.usage.time_zones import DAY_SECONDS, ClockStretch, format_day, to_day_number
from turnlog.store.usage.usage_request import REPORT_PERIODS, UsageRequest, build_spend_filter, list_clock_stretches
from turnlog.store.usage.usage_sums import (
    PICO_PER_DOLLAR,
    SpendFilter,
    UsageSum,
    add_usage_sums,
    sum_spend,
    sum_spend_by,
    sum_whole_sessions,
)

if TYPE_CHECKING:
    import apsw

    from turnlog.store.usage.tool_usage import ToolUsageRow

BLOCK_HOURS = 5
"""A block begins at the full hour (UTC) of its first message, as the client counts its limits.

The next begins with the next message after that. Blocks are those of the whole machine, whatever a report shows of
them: limits do not know projects.
"""
_EXACT_SPEND_TABLE = "temp.exact_spend"


class UsageReportRow(NamedTuple):
    """One line of a report."""

    labels: dict[str, Any]
    """What it is about."""
    sum: UsageSum
    whole: UsageSum | None = None
    """Of a session: all that it used, at any time, also what another session pays for."""


class UsageReport(NamedTuple):
    """A report with its total."""

    rows: list[UsageReportRow]
    total: UsageSum
    sessions: int
    """How many sessions are in it: all that there are, or those with usage in the part that was asked for."""
    gone: int
    """How many of these have no file any more."""
    with_usage: int = 0
    """How many sessions have usage in it; sub-agents without a main transcript are among them."""
    tools: tuple[ToolUsageRow, ...] = ()
    """The rows of the report by tool."""


def build_usage_report(db: apsw.Connection, request: UsageRequest) -> UsageReport:
    """Make a report."""
    if request.kind == "blocks":
        return _report_blocks(db, request)
    if request.kind == "tool":
        from turnlog.store.usage.tool_usage import list_tool_usage

        return _build_total_report(db, request)._replace(tools=list_tool_usage(db, request))
    wanted, stretches = build_usage_scope(db, request)
    rows = _ROW_BUILDERS[request.kind](db, wanted, stretches)
    return UsageReport(rows, add_usage_sums(row.sum for row in rows), *count_report_sessions(db, wanted))


def build_usage_scope(db: apsw.Connection, request: UsageRequest) -> tuple[SpendFilter, list[ClockStretch]]:
    """Which rows count, and how the clocks stand over them."""
    stretches = list_clock_stretches(db, request.zone)
    wanted = build_spend_filter(db, request)
    is_by_day = request.kind in REPORT_PERIODS or request.since or request.until
    if is_by_day and any(stretch.offset % 3600 for stretch in stretches):
        return _fill_exact_spend(db, wanted, request, stretches)
    if request.since is not None:
        wanted = wanted.with_condition("hour >= ?", request.zone.find_day_start(request.since) // 3600)
    if request.until is not None:
        wanted = wanted.with_condition("hour < ?", request.zone.find_day_start(_get_next_day(request.until)) // 3600)
    return (wanted.with_condition("hour >= 0") if request.until else wanted), stretches


def _fill_exact_spend(
    db: apsw.Connection, wanted: SpendFilter, request: UsageRequest, stretches: list[ClockStretch]
) -> tuple[SpendFilter, list[ClockStretch]]:
    """Where days begin within an hour of UTC, `spend` is too coarse for sessions that were at work at that time."""
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
    db.execute(f"UPDATE {_EXACT_SPEND_TABLE} SET hour = {_build_day_expression(stretches)} * 24 WHERE hour >= 0")
    fill_spend_table(db, _EXACT_SPEND_TABLE, sessions, lambda seconds: zone.to_day(seconds) * 24)
    found = SpendFilter(_EXACT_SPEND_TABLE, wanted.conditions, wanted.values)
    if request.since is not None:
        found = found.with_condition("hour >= ?", to_day_number(request.since) * 24)
    if request.until is not None:
        found = found.with_condition("hour BETWEEN 0 AND ?", to_day_number(request.until) * 24)
    return found, [ClockStretch(0, 0)]


def _get_next_day(day: date) -> date:
    return date.fromordinal(min(day.toordinal() + 1, date.max.toordinal()))


def _sum_by_day(
    db: apsw.Connection, wanted: SpendFilter, stretches: list[ClockStretch]
) -> list[tuple[int | None, UsageSum]]:
    """Sums by day, in days since 1970; None for what has no known time, at the end."""
    found = list(sum_spend_by(db, wanted, f"CASE WHEN hour >= 0 THEN {_build_day_expression(stretches)} END"))
    return sorted(found, key=lambda pair: (pair[0] is None, pair[0]))


def _build_day_expression(stretches: list[ClockStretch]) -> str:
    """The day of an hour, in days since 1970, for SQL: clocks change seldom, so a handful of cases does."""
    cases = "".join(f" WHEN hour < {after.hour} THEN {at.offset}" for at, after in pairwise(stretches))
    last = stretches[-1].offset
    return f"(hour * 3600 + {f'CASE{cases} ELSE {last} END' if cases else last}) / {DAY_SECONDS}"


def _list_daily_rows(db: apsw.Connection, wanted: SpendFilter, stretches: list[ClockStretch]) -> list[UsageReportRow]:
    return [UsageReportRow({"day": _format_known_day(day)}, found) for day, found in _sum_by_day(db, wanted, stretches)]


def _list_weekly_rows(db: apsw.Connection, wanted: SpendFilter, stretches: list[ClockStretch]) -> list[UsageReportRow]:
    # The first of January 1970 was a Thursday.
    return _gather_periods(db, wanted, stretches, "week", lambda day: format_day((day + 3) // 7 * 7 - 3))


def _list_monthly_rows(db: apsw.Connection, wanted: SpendFilter, stretches: list[ClockStretch]) -> list[UsageReportRow]:
    return _gather_periods(db, wanted, stretches, "month", lambda day: format_day(day)[:7])


def _gather_periods(
    db: apsw.Connection, wanted: SpendFilter, stretches: list[ClockStretch], label: str, name: Callable[[int], str]
) -> list[UsageReportRow]:
    days = _sum_by_day(db, wanted, stretches)
    periods = groupby(days, key=lambda pair: None if pair[0] is None else name(pair[0]))
    return [UsageReportRow({label: period}, add_usage_sums(found for _, found in pairs)) for period, pairs in periods]


def _format_known_day(day: int | None) -> str | None:
    return None if day is None else format_day(day)


def _list_session_rows(db: apsw.Connection, wanted: SpendFilter, _: list[ClockStretch]) -> list[UsageReportRow]:
    known, whole = _load_session_labels(db), sum_whole_sessions(db)
    rows = [
        UsageReportRow(dict(zip(_SESSION_LABELS, known[session], strict=True)), found, whole[session])
        for session, found in sum_spend_by(db, wanted, "session")
    ]
    return _sort_by_cost(rows)


_SESSION_LABELS = ("session_id", "project", "title", "gone")


def _load_session_labels(db: apsw.Connection) -> dict[int, tuple[str, str | None, str | None, bool]]:
    """The id, project and title of each session, and whether its file is gone; a folder's name if no entry has it."""
    rows = db.execute(
        "SELECT session.id, uuid, coalesce(cwd, name.text), file.title,"
        " coalesce(gone IS NOT NULL, 0) FROM session JOIN name ON name.id = project"
        " LEFT JOIN file ON file.session = session.id AND file.kind = 'session'"
    )
    return {number: (uuid, place, title, bool(gone)) for number, uuid, place, title, gone in rows}


def _list_project_rows(db: apsw.Connection, wanted: SpendFilter, _: list[ClockStretch]) -> list[UsageReportRow]:
    known = _load_session_labels(db)
    sums: dict[str | None, list[UsageSum]] = {}
    for session, found in sum_spend_by(db, wanted, "session"):
        sums.setdefault(known[session][1], []).append(found)
    return _sort_by_cost(
        [
            UsageReportRow({"project": place, "sessions": len(found)}, add_usage_sums(found))
            for place, found in sums.items()
        ]
    )


def _list_model_rows(db: apsw.Connection, wanted: SpendFilter, _: list[ClockStretch]) -> list[UsageReportRow]:
    names: dict[int | None, str] = dict(db.execute("SELECT id, text FROM name WHERE kind = 'model'"))
    return _sort_by_cost(
        [UsageReportRow({"model": names.get(model)}, found) for model, found in sum_spend_by(db, wanted, "model")]
    )


def _sort_by_cost(rows: list[UsageReportRow]) -> list[UsageReportRow]:
    return sorted(rows, key=lambda row: (-row.sum.cost, -row.sum.tokens, str(row.labels)))


def count_report_sessions(db: apsw.Connection, wanted: SpendFilter) -> tuple[int, int, int]:
    """How many sessions are in a report, how many of them have no file any more, and how many have usage in it."""
    with_usage, gone = db.execute(
        "SELECT count(*), coalesce(sum(session NOT IN (SELECT session FROM file WHERE gone IS NULL)), 0)"
        f" FROM (SELECT DISTINCT session {wanted.sql})",
        wanted.values,
    ).fetchone() or (0, 0)
    sessions = with_usage if wanted.conditions else count_sessions(db).sessions
    return sessions, gone, with_usage


def _build_total_report(db: apsw.Connection, request: UsageRequest) -> UsageReport:
    """Only the total and how many sessions are in it."""
    wanted, _ = build_usage_scope(db, request)
    return UsageReport([], sum_spend(db, wanted), *count_report_sessions(db, wanted))


# -- blocks


class BlockPace(NamedTuple):
    """How fast the block that is still open goes, and where that leads."""

    tokens_per_minute: float
    usd_per_hour: float
    minutes_left: int
    projected_tokens: int
    projected_usd: float


def _report_blocks(db: apsw.Connection, request: UsageRequest) -> UsageReport:
    """One row for each block that begins on a wanted day."""
    wanted = build_spend_filter(db, request)
    hours = [hour for (hour,) in db.execute("SELECT DISTINCT hour FROM spend WHERE hour >= 0 ORDER BY hour")]
    sums = dict(sum_spend_by(db, wanted.with_condition("hour >= 0"), "hour"))
    rows, shown = [], []
    for start, inside in _group_into_blocks(hours):
        used = [hour for hour in inside if hour in sums]
        if used and _is_wanted_block(start, request):
            found = add_usage_sums(sums[hour] for hour in used)
            rows.append(UsageReportRow(_build_labels(start, found, request.now), found))
            shown += used
    counts = count_report_sessions(db, wanted.with_condition("hour IN (SELECT value FROM json_each(?))", str(shown)))
    return UsageReport(rows, add_usage_sums(row.sum for row in rows), *counts)


def _group_into_blocks(hours: list[int]) -> list[tuple[int, list[int]]]:
    """The hours with messages, by the hour in which their block begins."""
    found: list[tuple[int, list[int]]] = []
    for hour in hours:
        if not found or hour >= found[-1][0] + BLOCK_HOURS:
            found.append((hour, []))
        found[-1][1].append(hour)
    return found


def _is_wanted_block(start: int, request: UsageRequest) -> bool:
    day = request.zone.to_day(start * 3600)
    if request.since is not None and day < to_day_number(request.since):
        return False
    return request.until is None or day <= to_day_number(request.until)


def _build_labels(start: int, found: UsageSum, now: float) -> dict[str, Any]:
    end = start + BLOCK_HOURS
    is_open = start * 3600 <= now < end * 3600
    return {
        "start": start * 3600,
        "end": end * 3600,
        "open": is_open,
        "pace": compute_block_pace(end, found, now) if is_open else None,
    }


def compute_block_pace(end: int, found: UsageSum, now: float) -> BlockPace:
    """The rate from the first to the last message of a block, and the block's end at that rate."""
    minutes = max(((found.last or 0) - (found.first or 0)) / 60, 1)
    left = max(end * 60 - now / 60, 0)
    per_minute, usd_per_minute = found.tokens / minutes, found.cost / PICO_PER_DOLLAR / minutes
    return BlockPace(
        round(per_minute, 1),
        round(usd_per_minute * 60, 6),
        round(left),
        found.tokens + round(per_minute * left),
        round(found.cost / PICO_PER_DOLLAR + usd_per_minute * left, 6),
    )


_ROW_BUILDERS: dict[str, Callable[[Any, SpendFilter, list[ClockStretch]], list[UsageReportRow]]] = {
    "daily": _list_daily_rows,
    "weekly": _list_weekly_rows,
    "monthly": _list_monthly_rows,
    "session": _list_session_rows,
    "project": _list_project_rows,
    "model": _list_model_rows,
}
