"""A request for a usage report: how it is parsed, and which rows of `spend` it selects."""

from __future__ import annotations

import time
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from turnlog.errors import UsageError
from turnlog.store.usage.time_zones import ClockStretch, TimeZone, format_day, parse_day
from turnlog.store.usage.usage_sums import SpendFilter

if TYPE_CHECKING:
    import apsw

REPORT_PERIODS = ("daily", "weekly", "monthly")
REPORT_KINDS = (*REPORT_PERIODS, "session", "project", "model", "tool", "blocks")


class UsageRequest(NamedTuple):
    """What somebody wants to know."""

    kind: str = "daily"
    since: date | None = None
    until: date | None = None
    """The last day that counts."""
    project: str | None = None
    model: str | None = None
    zone: TimeZone = TimeZone()
    now: float = 0.0
    """In seconds since 1970: which block is open."""


def parse_usage_request(
    kind: str = "daily",
    since: str | None = None,
    until: str | None = None,
    project: str | None = None,
    model: str | None = None,
    timezone: str | None = None,
) -> UsageRequest:
    """A request; raises UsageError for words that are not understood."""
    zone = TimeZone(timezone)
    now = time.time()

    def today() -> date:
        return date.fromisoformat(format_day(zone.to_day(int(now))))

    first = parse_day(since, "--since", today) if since is not None else None
    last = parse_day(until, "--until", today) if until is not None else None
    if first and last and first > last:
        raise UsageError(f"--since {first} is after --until {last}: no day lies between them")
    return UsageRequest(kind, first, last, project, model, zone, now)


def list_clock_stretches(db: apsw.Connection, zone: TimeZone) -> list[ClockStretch]:
    """How the clocks of a zone stand over all messages."""
    first, last = db.execute("SELECT min(hour), max(hour) FROM spend WHERE hour >= 0").fetchone() or (0, 0)
    return zone.list_stretches(first or 0, last or 0)


def build_spend_filter(db: apsw.Connection, request: UsageRequest) -> SpendFilter:
    """The rows of a project and of a model."""
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
    """The numbers of what a word means, as JSON."""
    from turnlog.store.filter_values import build_unknown_error, match_names, require_projects

    if kind == "project":
        return str(require_projects(db, value))
    fits = match_names(db, kind, value)
    if not fits.ids:
        raise build_unknown_error(kind, value, fits.closest)
    return str(fits.ids)
