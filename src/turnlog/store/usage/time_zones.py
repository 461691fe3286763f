"""Time zones, for converting hours in UTC to local days."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import NamedTuple

from turnlog.errors import UsageError

DAY_SECONDS = 86_400
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_STEP_HOURS = 6 * 24
"""The step size when searching for clock changes: every zone keeps its offset for longer than this."""
_EARLIEST_HOUR, _LATEST_HOUR = 30 * 8766, 130 * 8766
"""Sessions are dated from 2000 to 2100; outside that range, offsets are assumed not to change."""


class ClockStretch(NamedTuple):
    """The local clock's offset from UTC in seconds, starting at a given hour."""

    hour: int
    offset: int


class TimeZone:
    """A time zone; without a name, the machine's own zone."""

    def __init__(self, name: str | None = None) -> None:
        self._zone = None if name in (None, "", "local") else _load_zone(str(name))
        self.name = name or "local"

    def find_offset(self, seconds: int) -> int:
        """Return how many seconds the local clock is ahead of UTC at a given time."""
        try:
            if self._zone is None:
                return time.localtime(seconds).tm_gmtoff
            ahead = datetime.fromtimestamp(seconds, self._zone).utcoffset()
        except (ValueError, OverflowError, OSError):  # the year is out of range
            return 0
        return int(ahead.total_seconds()) if ahead else 0

    def to_day(self, seconds: int) -> int:
        """Return the local day of a time, in days since 1970."""
        return (seconds + self.find_offset(seconds)) // DAY_SECONDS

    def format_time(self, seconds: int) -> str:
        """Format a time in local time: 2026-11-03 14:05."""
        return datetime.fromtimestamp(seconds + self.find_offset(seconds), UTC).strftime("%Y-%m-%d %H:%M")

    def find_day_start(self, day: date) -> int:
        """Return when a day starts, in seconds since 1970."""
        if not 1971 <= day.year <= 9998:
            return to_day_number(day) * DAY_SECONDS
        return int(datetime(day.year, day.month, day.day, tzinfo=self._zone).timestamp())

    def list_stretches(self, first: int, last: int) -> list[ClockStretch]:
        """List the clock offsets from the hour `first` to the hour `last`."""
        first, last = (min(max(hour, _EARLIEST_HOUR), _LATEST_HOUR) for hour in (first, last))
        stretches = [ClockStretch(first, self.find_offset(first * 3600))]
        for hour in range(first + _STEP_HOURS, last + _STEP_HOURS, _STEP_HOURS):
            if (offset := self.find_offset(hour * 3600)) != stretches[-1].offset:
                stretches.append(ClockStretch(self._find_clock_change(hour - _STEP_HOURS, hour), offset))
        return stretches

    def _find_clock_change(self, before: int, after: int) -> int:
        """Find the first hour with the clock offset of `after`."""
        offset = self.find_offset(after * 3600)
        while after - before > 1:
            middle = (before + after) // 2
            if self.find_offset(middle * 3600) == offset:
                after = middle
            else:
                before = middle
        return after


def _load_zone(name: str) -> tzinfo:
    if name.upper() in ("UTC", "Z"):
        return UTC
    if name[0] in "+-":
        return _parse_fixed_offset(name)
    from zoneinfo import ZoneInfo  # takes a tenth of the command's time, and most people use their machine's zone

    try:
        return ZoneInfo(name)
    except (ValueError, KeyError, OSError):
        raise UsageError(
            f"unknown time zone {name!r}; use a name such as Europe/Berlin, or an offset such as +02:00"
        ) from None


def _parse_fixed_offset(name: str) -> tzinfo:
    sign = -1 if name[0] == "-" else 1
    hours, _, minutes = name[1:].partition(":")
    if len(hours) == 4 and not minutes:
        hours, minutes = hours[:2], hours[2:]
    if hours.isdecimal() and (minutes or "0").isdecimal() and len(hours) < 3 and len(minutes) < 3:
        ahead = timedelta(hours=int(hours), minutes=int(minutes or 0))
        if ahead < timedelta(days=1):
            return timezone(sign * ahead)
    raise UsageError(f"unknown time zone {name!r}; use a name such as Europe/Berlin, or an offset such as +02:00")


def parse_day(text: str, option: str, today: Callable[[], date]) -> date:
    """Parse a day: 2026-11-03, 20261103, `today`, `yesterday`, or `30d` for thirty days ago."""
    word = text.strip().lower()
    if word in ("today", "yesterday"):
        return today() - timedelta(days=word == "yesterday")
    if word.endswith("d") and word[:-1].isdecimal() and len(word) < 6:
        return today() - timedelta(days=int(word[:-1]))
    try:
        return date.fromisoformat(word)
    except ValueError:
        raise UsageError(f"{option} {text!r}: not a day; use a value such as 2026-11-03, yesterday or 30d") from None


def to_day_number(day: date) -> int:
    """Return a day as days since 1970."""
    return day.toordinal() - _EPOCH_ORDINAL


def format_client_time(seconds: int) -> str:
    """Format a time the way Claude Code writes it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def format_day(day: int) -> str:
    """Format a day, counted in days since 1970: 2026-11-03."""
    return date.fromordinal(min(_EPOCH_ORDINAL + day, date.max.toordinal())).isoformat()
