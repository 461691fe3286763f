"""A part of the usage, such as one hour of the week or one model in a range of days: its sum for each session.

The list of sessions behind a figure and the figure itself come from the same rows, so all conditions of a slice hold
together for both.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.errors import UsageError
from turnlog.store.project_folders import load_session_folders
from turnlog.store.usage.time_zones import ClockStretch, TimeZone
from turnlog.store.usage.usage_blocks import BLOCK_HOURS
from turnlog.store.usage.usage_reports import (
    UsageRequest,
    build_spend_filter,
    build_usage_scope,
    list_clock_stretches,
)
from turnlog.store.usage.usage_sums import COST_SUM

if TYPE_CHECKING:
    import apsw

    from turnlog.store.usage.usage_sums import SpendFilter

UNKNOWN_MODEL = "unknown"
DAY_NAMES = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_SLICE_QUERY = """
    SELECT hour, session, {cost}, sum(input + output + cache_read + cache_write_5m + cache_write_1h), sum(messages)
    {rows} GROUP BY 1, 2
"""


class WeekHour(NamedTuple):
    """An hour of the week on the local clock."""

    day: int
    """The day of the week, from Monday."""
    hour: int

    def __str__(self) -> str:
        return f"{DAY_NAMES[self.day]}-{self.hour:02}"

    @property
    def label(self) -> str:
        return f"{DAY_NAMES[self.day]} {self.hour:02}:00"


class UsageSlice(NamedTuple):
    """The usage to add up; all conditions hold together."""

    request: UsageRequest
    """The days, the project and the model."""
    folder: str = ""
    """The exact folder of a project, as charts name it; the request's project includes the folders below it."""
    model: str = ""
    """The exact name of a model, or UNKNOWN_MODEL."""
    tool: str = ""
    """The exact name of a tool, or NO_TOOL."""
    week_hour: WeekHour | None = None
    block: int | None = None
    """The first hour of a five-hour block, in hours since 1970."""

    @property
    def has_hours(self) -> bool:
        return self.week_hour is not None or self.block is not None


class SliceSum(NamedTuple):
    cost: float = 0
    """In pico dollars."""
    tokens: float = 0
    messages: float = 0

    def add(self, cost: float, tokens: float, messages: float) -> SliceSum:
        return SliceSum(self.cost + cost, self.tokens + tokens, self.messages + messages)


def parse_week_hour(text: str) -> WeekHour | None:
    """Parse `Wed-14`; raise `UsageError` for anything else but an empty text."""
    if not text:
        return None
    name, _, hour = text.partition("-")
    if name not in DAY_NAMES or not (hour.isdecimal() and len(hour) <= 2 and int(hour) < 24):
        raise UsageError(f"hour {text!r}: not an hour of the week; use a value such as Wed-14")
    return WeekHour(DAY_NAMES.index(name), int(hour))


def parse_block(text: str) -> int | None:
    """Parse the start of a block, `2026-11-03T14`, in UTC; raise `UsageError` for anything else but an empty text."""
    if not text:
        return None
    try:
        start = datetime.strptime(text[:13], "%Y-%m-%dT%H").replace(tzinfo=UTC)
    except ValueError:
        raise UsageError(f"block {text!r}: not the start of a block; use a value such as 2026-11-03T14") from None
    return int(start.timestamp()) // 3600


def sum_slice_by_session(db: apsw.Connection, wanted: UsageSlice) -> dict[int, SliceSum]:
    """Add up a slice for each session that has usage in it."""
    if wanted.has_hours:
        scope, stretches = build_hour_scope(db, wanted.request), list_clock_stretches(db, wanted.request.zone)
    else:
        scope, stretches = build_usage_scope(db, wanted.request, is_by_day=True)
    scope = build_model_scope(scope, wanted.model)
    query = _SLICE_QUERY.format(cost=COST_SUM, rows=scope.sql)
    return sum_rows_by_session(db, wanted, stretches, db.execute(query, scope.values))


def sum_rows_by_session(
    db: apsw.Connection, wanted: UsageSlice, stretches: list[ClockStretch], rows: Iterable[tuple[Any, ...]]
) -> dict[int, SliceSum]:
    """Add up rows with an hour, a session and amounts."""
    folders = load_session_folders(db) if wanted.folder else {}
    sums: dict[int, SliceSum] = {}
    for hour, session, *amounts in rows:
        if is_in_hours(hour, wanted, stretches) and (not wanted.folder or folders.get(session) == wanted.folder):
            sums[session] = sums.get(session, SliceSum()).add(*amounts)
    return sums


def build_model_scope(scope: SpendFilter, model: str) -> SpendFilter:
    """Restrict rows to a model with this exact name."""
    named = "model = (SELECT id FROM name WHERE kind = 'model' AND text = ?)"
    if model == UNKNOWN_MODEL:
        return scope.with_condition(f"(model IS NULL OR {named})", model)  # a model may have this name
    return scope.with_condition(named, model) if model else scope


def is_in_hours(hour: int, wanted: UsageSlice, stretches: list[ClockStretch]) -> bool:
    """Return whether an hour since 1970 meets the conditions on the hour of the week and the block."""
    if wanted.block is not None and not wanted.block <= hour < wanted.block + BLOCK_HOURS:
        return False
    return wanted.week_hour is None or (hour >= 0 and to_week_hour(hour, stretches) == wanted.week_hour)


def build_hour_scope(db: apsw.Connection, request: UsageRequest) -> SpendFilter:
    """Return the filter for the rows of whole hours that a request includes."""
    wanted = build_spend_filter(db, request).with_condition("hour >= 0")
    if request.since is not None:
        wanted = wanted.with_condition("hour >= ?", _to_hour(request.zone, request.since))
    if request.until is not None:
        after = date.fromordinal(min(request.until.toordinal() + 1, date.max.toordinal()))
        wanted = wanted.with_condition("hour < ?", _to_hour(request.zone, after))
    return wanted


def to_local_hour(hour: int, stretches: list[ClockStretch]) -> int:
    """Convert hours since 1970 to those that the local clock counts."""
    ahead = next((item.offset for item in reversed(stretches) if item.hour <= hour), stretches[0].offset)
    return hour + ahead // 3600


def to_week_hour(hour: int, stretches: list[ClockStretch]) -> WeekHour:
    """Convert hours since 1970 to the hour of the week on the local clock."""
    local = to_local_hour(hour, stretches)
    return WeekHour((local // 24 + 3) % 7, local % 24)  # the first of January 1970 was a Thursday


def _to_hour(zone: TimeZone, day: date) -> int:
    return zone.find_day_start(day) // 3600
