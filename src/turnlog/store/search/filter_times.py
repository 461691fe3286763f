"""Parses times as people write them in a filter, and converts the days between two times to facet words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from turnlog.store.index.facets import build_facet

TIME_FORMS = "2026-01-15, 2026-01, 2026-01-15T10:30, today, yesterday, 90min, 36h, 7d, 2w, 3m, 1y"
_TIME_AGO = re.compile(r"(\d{1,6}) ?(min|h|d|w|m|mo|y)")
_UNIT_SECONDS = {
    "min": 60,
    "h": 3600,
    "d": 86_400,
    "w": 7 * 86_400,
    "m": 30 * 86_400,
    "mo": 30 * 86_400,
    "y": 365 * 86_400,
}
_PARTIAL_DATE = re.compile(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?")
_MAX_YEARS_AHEAD = 2
"""How many years in the future a text may be dated, because clocks can be wrong."""


def parse_time(text: str, now: datetime | None = None) -> int | None:
    """Parse a time into seconds since 1970; for a day, month or year, return its start in local time."""
    now = now or datetime.now(UTC)
    word = text.strip().lower()
    if word in ("now", "today", "yesterday"):
        days = ("today", "yesterday").index(word) if word != "now" else None
        return int(now.timestamp()) if days is None else _to_midnight(now.astimezone().date() - timedelta(days=days))
    if match := _TIME_AGO.fullmatch(word):
        return max(int(now.timestamp()) - int(match[1]) * _UNIT_SECONDS[match[2]], 0)
    try:
        if match := _PARTIAL_DATE.fullmatch(word):
            return _to_midnight(date(int(match[1]), int(match[2] or 1), int(match[3] or 1)))
        return max(int(datetime.fromisoformat(text.strip()).astimezone().timestamp()), 0)
    except (ValueError, OverflowError, OSError):
        return None


def _to_midnight(day: date) -> int:
    return max(int(datetime(day.year, day.month, day.day).astimezone().timestamp()), 0)


def list_day_facets(after: int | None, before: int | None) -> list[str]:
    """List the facet words for all days (UTC) in a time span; a whole month or year needs only one word."""
    last_year = datetime.now(UTC).year + _MAX_YEARS_AHEAD
    first = _to_day(after or 0)
    last = date(last_year, 12, 31) if before is None else min(_to_day(max(before - 1, 0)), date(last_year, 12, 31))
    return list(_iter_day_facets(first, last))


def _to_day(seconds: int) -> date:
    try:
        return datetime.fromtimestamp(seconds, UTC).date()
    except (ValueError, OverflowError, OSError):
        return date.max


def _iter_day_facets(day: date, last: date) -> Iterator[str]:
    while day <= last:
        if (day.month, day.day) == (1, 1) and date(day.year, 12, 31) <= last:
            yield build_facet("y", day.year)
            day = date(day.year + 1, 1, 1)
        elif day.day == 1 and (after := _get_next_month(day)) - timedelta(days=1) <= last:
            yield build_facet("n", day.year * 100 + day.month)
            day = after
        else:
            yield build_facet("d", day.year * 10_000 + day.month * 100 + day.day)
            day += timedelta(days=1)


def _get_next_month(day: date) -> date:
    return date(day.year + day.month // 12, day.month % 12 + 1, 1)
