"""Formats times and amounts for people."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from turnlog.render.figures import format_size as format_size


def _parse_client_time(text: str | None) -> datetime | None:
    from turnlog.session.clock import parse_timestamp  # not at the top: `--help` must not load other packages

    return parse_timestamp(text)


def format_client_time(text: str | None) -> str:
    """Format a timestamp in the local time zone: `2026-11-03 14:05`."""
    found = _parse_client_time(text)
    return _format_minute(found) if found else "unknown time"


def format_time_span(started: str | None, ended: str | None) -> str:
    """Format a period; if it starts and ends on the same day, the date appears once."""
    begin, end = format_client_time(started), format_client_time(ended)
    if begin == end:
        return begin
    same_day = begin[:10] == end[:10]
    return f"{begin} – {end[11:] if same_day else end}"


def format_client_time_ago(text: str | None, now: datetime | None = None) -> str:
    """Format the age of a timestamp or, after a week, its date."""
    found = _parse_client_time(text)
    return format_time_ago(found.timestamp(), now) if found else "unknown time"


def format_time_ago(seconds: float, now: datetime | None = None) -> str:
    """Format the age of a time or, after a week, its date."""
    passed = (now or datetime.now(UTC)).timestamp() - seconds
    if passed < 0 or passed >= 7 * 86400:
        return format_epoch_time(seconds)[:10]
    if passed < 60:
        return "just now"
    for unit, length in (("min", 60), ("hour", 3600), ("day", 86400)):
        number = int(passed // length)
        if number < {"min": 60, "hour": 24, "day": 8}[unit]:
            break
    return f"{number} {unit}{'s' if number > 1 and unit != 'min' else ''} ago"


def format_epoch_time(seconds: float) -> str:
    """Format a time in seconds since 1970 in the local time zone."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def to_json_time(seconds: float | None) -> str | None:
    """Format a time in seconds since 1970 for JSON; return None for None."""
    from turnlog.session.clock import to_iso_time

    return None if seconds is None else to_iso_time(datetime.fromtimestamp(seconds, UTC))


def format_milliseconds(milliseconds: float) -> str:
    """Format a duration: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`."""
    seconds = milliseconds / 1000
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes == 0:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"


def measure_time_between(started: str | None, ended: str | None) -> timedelta | None:
    """Return the time between two timestamps, or None if it is unknown or negative."""
    begin, end = _parse_client_time(started), _parse_client_time(ended)
    return end - begin if begin and end and end >= begin else None


def format_money(dollars: float) -> str:
    return f"${dollars:,.2f}" if dollars >= 0.01 or dollars == 0 else f"${dollars:.4f}"


def _format_minute(found: datetime) -> str:
    try:
        return found.astimezone().strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):  # years outside the range of the machine's calendar
        return found.strftime("%Y-%m-%d %H:%M")
