"""The periods of a chart: days, weeks or months without gaps, from the first to the last day that is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from typing import NamedTuple

PERIOD_NAMES = {"daily": "day", "weekly": "week", "monthly": "month"}
_MAX_PERIODS = 400
_MAX_MONTHS = 1200
"""Beyond that, a chart has only the periods with usage: some time is wrong."""
_MAX_DAYS, _MAX_WEEKS = 100, 900
"""The longest time that a chart shows by day, and by week, unless the reader chooses."""


class TimePeriod(NamedTuple):
    """A day, week or month, cut to the days that the chart shows."""

    first: date
    last: date
    label: str

    @property
    def words(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first} to {self.last}"


class TimeAxis(NamedTuple):
    kind: str
    """daily, weekly or monthly."""
    first: date
    last: date
    used: tuple[date, ...] = ()
    """The days with usage."""

    @property
    def name(self) -> str:
        return PERIOD_NAMES[self.kind]

    @property
    def words(self) -> str:
        return f"From {self.first} to {self.last}"

    def find_start(self, day: date) -> date:
        """Return the first day of the period that a day is in."""
        if self.kind == "weekly":
            return day - timedelta(days=day.weekday())
        return day.replace(day=1) if self.kind == "monthly" else day

    def list_periods(self) -> dict[date, TimePeriod]:
        """List all periods by their start."""
        if self.last.year - self.first.year > _MAX_MONTHS // 12:
            starts = sorted({self.find_start(day) for day in self.used})
        else:
            starts = [self.find_start(self.first)]
            while (after := find_next_start(starts[-1], self.kind)) <= self.last:
                starts.append(after)
        return {start: self._build_period(start) for start in starts}

    def _build_period(self, start: date) -> TimePeriod:
        end = find_next_start(start, self.kind) - timedelta(days=1)
        return TimePeriod(max(start, self.first), min(end, self.last), self._build_label(start))

    def _build_label(self, start: date) -> str:
        if self.kind == "monthly":
            return f"{start:%b %Y}"
        has_years = self.first.year != self.last.year
        return f"{start.day} {start:%b %Y}" if has_years else f"{start.day} {start:%b}"


def find_next_start(start: date, kind: str) -> date:
    """Return the first day of the period after one that starts on a day."""
    if start.year == date.max.year:
        return date.max
    if kind == "monthly":
        return (start + timedelta(days=32)).replace(day=1)
    return start + timedelta(days=7 if kind == "weekly" else 1)


def build_time_axis(
    days: Iterable[date], since: date | None, until: date | None, today: date, kind: str = ""
) -> TimeAxis:
    """Build the axis for usage on some days: it starts at `since`, if given, and ends at `until` or today.

    Usage of a copied session may be in the future; the axis contains it.
    """
    used = sorted(days)
    first = since or (used[0] if used else today)
    last = min(until, max(today, first)) if until else max(today, first)
    if used:
        first, last = min(first, used[0]), max(last, used[-1])
    length = (last - first).days + 1
    wanted = kind or ("daily" if length <= _MAX_DAYS else "weekly" if length <= _MAX_WEEKS else "monthly")
    if wanted == "daily" and length > _MAX_PERIODS:
        wanted = "weekly"
    if wanted == "weekly" and length > _MAX_PERIODS * 7:
        wanted = "monthly"
    return TimeAxis(wanted, first, last, tuple(used))
