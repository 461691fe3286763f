"""Formats times and amounts for the pages."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

from turnlog.render.figures import format_count as format_count
from turnlog.render.figures import format_size as format_size
from turnlog.session.clock import parse_timestamp

MAX_NAME_CHARS = 200
"""The longest name that a page shows in full."""
MAX_VALUE_CHARS = 4_000
"""The longest attribute or value of a template, such as an address or a path in a tooltip."""
_PATH_SEPARATOR = re.compile(r"[/\\]")
_WEEK_SECONDS = 7 * 86400


def describe_age(seconds: float, now: float | None = None) -> str:
    """Return how long ago a time was, or its date if that was more than a week ago."""
    passed = (time.time() if now is None else now) - seconds
    if not 0 <= passed < _WEEK_SECONDS:
        return format_local_time(seconds)[:10]
    if passed < 60:
        return "just now"
    if passed < 3600:
        return f"{int(passed // 60)} min ago"
    if passed < 86400:
        return f"{int(passed // 3600)} h ago"
    days = int(passed // 86400)
    return f"{days} day{'' if days == 1 else 's'} ago"


def format_local_time(seconds: float | None) -> str:
    """Format seconds since 1970 in this machine's time zone: `2026-11-03 14:05`."""
    try:
        return "unknown time" if seconds is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
    except (ValueError, OverflowError, OSError):  # years that the C library can't represent
        return "unknown time"


def format_datetime_attribute(seconds: float | None) -> str:
    """Format a time for the HTML `datetime` attribute; return an empty string if it is unknown."""
    try:
        return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return ""


def parse_seconds(text: str | None) -> float | None:
    """Convert a transcript's timestamp to seconds since 1970."""
    moment = parse_timestamp(text)
    return moment.timestamp() if moment else None


def format_seconds(seconds: float | None) -> str:
    """Format a duration briefly: `12 s`, `3 min`, `2 h 5 min`, `3 days`."""
    if seconds is None:
        return "–"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    return f"{round(hours / 24)} days"


def format_short_number(number: float) -> str:
    """Format a number briefly: 999, 12.3k, 4.5M, 1.2G."""
    amount, unit = float(number), ""
    for unit in ("", "k", "M", "G", "T"):
        if abs(amount) < 999.5 or unit == "T":
            break
        amount /= 1000
    return f"{amount:.0f}{unit}" if not unit or abs(amount) >= 99.95 else f"{amount:.1f}{unit}"


def format_axis_number(number: float) -> str:
    """Format a round number for an axis: 40M."""
    return format_short_number(number).replace(".0", "")


def format_usd(dollars: float) -> str:
    """Format US dollars, with four decimals for amounts below a cent."""
    sign, amount = ("-" if dollars < 0 else ""), abs(dollars)
    return f"{sign}${amount:,.2f}" if amount >= 0.01 or amount == 0 else f"{sign}${amount:.4f}"


def format_share(part: float, whole: float) -> str:
    return f"{part / whole:.1%}" if whole else "–"


def shorten_name(name: str, limit: int = MAX_NAME_CHARS) -> str:
    """Cut a name that no page has room for: folders, branches, models and tools may have names of any length."""
    return name if len(name) <= limit else f"{name[:limit]}…"


def folder_name(path: str | None) -> str:
    """Return the last part of a path."""
    return shorten_name(_PATH_SEPARATOR.split((path or "").rstrip("/\\"))[-1] or path or "–")


def model_name(name: str | None) -> str:
    """Return a model's name without its prefix and date: `opus-5`."""
    if not name:
        return "unknown"
    return shorten_name(re.sub(r"-20\d{6}$", "", name.removeprefix("claude-")))
