"""What the dashboard above the list shows: a year of usage, this week against the last one, and sessions to look at."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, NamedTuple

import apsw
from markupsafe import Markup

from turnlog.store.insight.catalog import CatalogSession, read_catalog_state
from turnlog.store.usage.usage_document import read_usage_report, update_spend_prices
from turnlog.store.usage.usage_reports import UsageRequest, parse_usage_request
from turnlog.store.usage.usage_sums import PICO_PER_DOLLAR, UsageSum, add_usage_sums
from turnlog.web import amounts
from turnlog.web.charts.year_map import YearDay, render_year_map
from turnlog.web.home.home_address import build_home_address
from turnlog.web.home.late_work import LateWork
from turnlog.web.home.listing_filter import ListingFilter
from turnlog.web.home.session_list import HomeListing
from turnlog.web.machine import Machine

_MAX_ROWS = 5
_RECENT_DAYS = 30
_BUSY_PAUSE_FACTOR = 4
_MAX_TITLE_CHARS = 100
_CONTEXT_QUERY = """
    SELECT session, tokens FROM (
        SELECT file.session AS session, max(answer.last),
            answer.input + answer.cache_read + answer.cache_write AS tokens
        FROM file JOIN answer ON answer.file = file.id
        WHERE file.kind = 'session' AND file.gone IS NULL AND NOT answer.sidechain AND file.ended >= ?
        GROUP BY file.id
    ) ORDER BY tokens DESC LIMIT ?
"""
"""The tokens of each session's last request: SQLite takes the other columns from the row with the maximum."""


class DashboardEntry(NamedTuple):
    """A session in one of the dashboard's short lists."""

    href: str
    title: str
    project: str
    figure: str
    hint: str


class WeekDayBars(NamedTuple):
    """The cost of a day of both weeks, as shares of the most expensive day."""

    name: str
    this_share: float
    this_words: str
    this_href: str
    last_share: float
    last_words: str
    last_href: str


class WeekComparison(NamedTuple):
    """The usage of this week and of the last one, by day from Monday."""

    this: UsageSum
    last: UsageSum
    last_until_now: UsageSum
    """The last week's days up to today's day of the week."""
    bars: list[WeekDayBars]

    @property
    def change(self) -> str:
        """This week's cost compared with the same days of the last week: `+12 %`."""
        before, now = self.last_until_now.cost, self.this.cost
        return f"{(now - before) / before:+.0%}".replace("%", " %").replace("-", "−") if before else ""


class Dashboard(NamedTuple):
    year_map: Markup
    year: UsageSum
    first: date
    last: date
    newest: date
    """The last day with usage, which may be in the future."""
    week: WeekComparison
    top: list[DashboardEntry]
    top_period: str
    context: list[DashboardEntry]
    deleting: list[DashboardEntry]
    deletions: int
    """How many sessions will be deleted soon."""
    is_past: bool
    """Whether there has been no usage for a year, so that the year ends with the last usage."""

    @property
    def newest_address(self) -> str:
        return build_day_address(self.newest)


class DashboardCache:
    """Builds the dashboard, and again only if the index has changed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: tuple[Any, Dashboard | None] | None = None
        self._next_build = 0.0
        self._late = LateWork("dashboard")

    def get_quickly(self, machine: Machine, listing: HomeListing) -> Dashboard | None:
        """Return the dashboard if that is quick; otherwise the previous one, and build the current one later."""
        if not listing.is_large:
            return self.get_dashboard(machine, listing)
        before = self._known
        if not listing.is_partial:
            self._late.start(machine, lambda: self.get_dashboard(machine, listing) is not (before and before[1]))
        return before[1] if before else None

    def get_dashboard(self, machine: Machine, listing: HomeListing) -> Dashboard | None:
        """Return the dashboard; None if no usage has been read yet."""
        with self._lock:
            if self._known is not None and machine.state.is_busy and time.monotonic() < self._next_build:
                return self._known[1]
            db = machine.store.db
            state = (machine.index, *read_catalog_state(db), date.today())  # noqa: DTZ011 - local days
            if self._known is not None and self._known[0] == state:
                return self._known[1]
            begin, dashboard = time.monotonic(), None
            if not machine.state.is_busy:  # otherwise, the process that writes the index recomputes its sums
                update_spend_prices(db)
            with db:  # one state of the index: another process may be writing
                dashboard = build_dashboard(db, listing)
            self._known = state, dashboard
            self._next_build = time.monotonic() + 1 + _BUSY_PAUSE_FACTOR * (time.monotonic() - begin)
            return dashboard


def build_dashboard(db: apsw.Connection, listing: HomeListing) -> Dashboard | None:
    """Build the dashboard; None if there is no usage."""
    report = read_usage_report(db, parse_usage_request("daily")).report
    days = {date.fromisoformat(row.labels["day"]): row.sum for row in report.rows if row.labels["day"]}
    if not days:
        return None
    today = date.today()  # noqa: DTZ011 - local days
    newest = max(days)
    # Sessions that were copied from elsewhere may be older than a year.
    last = today if today - timedelta(days=364) <= newest <= today else newest
    first = last - timedelta(days=364)
    return Dashboard(
        _render_year(days, first, last),
        add_usage_sums(usage for day, usage in days.items() if first <= day <= last),
        first,
        last,
        newest,
        compare_weeks(days, last),
        *_find_top_sessions(db, listing, last),
        _find_full_contexts(db, listing, last),
        _list_deletions(listing),
        len(listing.ends),
        last != today,
    )


def _render_year(days: Mapping[date, UsageSum], first: date, last: date) -> Markup:
    cells = []
    for number in range((last - first).days + 1):
        day = first + timedelta(days=number)
        usage = days.get(day)
        words = _describe_day(day, usage)
        cells.append(YearDay(day, usage.cost / PICO_PER_DOLLAR if usage else 0.0, words, build_day_address(day)))
    return render_year_map("Cost by day", cells)


def _describe_day(day: date, usage: UsageSum | None) -> str:
    name = f"{day:%a} {day.day} {day:%b %Y}"
    if usage is None or not usage.messages:
        return f"{name}: no usage"
    cost, tokens = amounts.format_usd(usage.cost / PICO_PER_DOLLAR), amounts.format_short_number(usage.tokens)
    return f"{name}: {cost}, {tokens} tokens, {amounts.format_count(usage.messages, 'message')}"


def build_day_address(day: date) -> str:
    """Return the address of the list of sessions that used tokens on a day."""
    return build_home_address(ListingFilter(since=day.isoformat(), until=day.isoformat()))


def compare_weeks(days: Mapping[date, UsageSum], today: date) -> WeekComparison:
    """Compare the week of a day, up to that day, with the week before."""
    monday = today - timedelta(days=today.weekday())
    this = [days.get(monday + timedelta(days=number), UsageSum()) for number in range(7)]
    last = [days.get(monday + timedelta(days=number - 7), UsageSum()) for number in range(7)]
    highest = max((usage.cost for usage in (*this, *last)), default=0) or 1
    bars = [
        WeekDayBars(
            f"{day:%a}",
            now.cost / highest,
            _describe_day(day, now),
            build_day_address(day),
            before.cost / highest,
            _describe_day(day - timedelta(days=7), before),
            build_day_address(day - timedelta(days=7)),
        )
        for day, now, before in zip((monday + timedelta(days=number) for number in range(7)), this, last, strict=True)
    ]
    passed = today.weekday() + 1
    return WeekComparison(add_usage_sums(this), add_usage_sums(last), add_usage_sums(last[:passed]), bars)


def _find_top_sessions(db: apsw.Connection, listing: HomeListing, last: date) -> tuple[list[DashboardEntry], str]:
    """List the sessions that cost most in the last 30 days, by what they cost in that time."""
    since = last - timedelta(days=_RECENT_DAYS - 1)
    request: UsageRequest = parse_usage_request("session", since.isoformat(), last.isoformat())
    rows = read_usage_report(db, request).report.rows[:_MAX_ROWS]
    entries = []
    for row in rows:
        session = listing.by_uuid.get(row.labels["session_id"])
        if session is not None and row.sum.cost:
            tokens = f"{amounts.format_short_number(row.sum.tokens)} tokens"
            entries.append(_build_entry(listing, session, amounts.format_usd(row.sum.cost / PICO_PER_DOLLAR), tokens))
    return entries, f"{_RECENT_DAYS} days" if last >= date.today() else f"the 30 days up to {last}"  # noqa: DTZ011


def _find_full_contexts(db: apsw.Connection, listing: HomeListing, last: date) -> list[DashboardEntry]:
    """List the recent sessions whose last request sent the most tokens."""
    since = (last - timedelta(days=_RECENT_DAYS)).isoformat()
    by_number = {row.number: row for row in listing.rows}
    return [
        _build_entry(listing, by_number[session], amounts.format_short_number(tokens), f"{tokens:,} tokens")
        for session, tokens in db.execute(_CONTEXT_QUERY, (since, _MAX_ROWS))
        if session in by_number and tokens
    ]


def _list_deletions(listing: HomeListing) -> list[DashboardEntry]:
    soon = sorted(listing.ends.items(), key=lambda item: item[1])[:_MAX_ROWS]
    by_number = {row.number: row for row in listing.rows} if soon else {}
    return [
        _build_entry(listing, by_number[number], *_describe_deletion(end))
        for number, end in soon
        if number in by_number
    ]


def _describe_deletion(end: float) -> tuple[str, str]:
    """Return when a session will be deleted, and an explanation."""
    if end <= time.time():
        return "next start", "The next time Claude Code starts"
    return amounts.format_local_time(end)[:10], "When Claude Code starts on this day or later"


def _build_entry(listing: HomeListing, row: CatalogSession, figure: str, hint: str) -> DashboardEntry:
    title = " ".join((row.title or "")[: 4 * _MAX_TITLE_CHARS].split())[:_MAX_TITLE_CHARS] or "(no title)"
    ref = listing.refs.format_ref(row.number, row.uuid)
    return DashboardEntry(f"/s/{ref}", title, amounts.folder_name(row.project), figure, hint)
