"""Times and amounts in the words of people, for the pages."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

from turnlog.render.figures import format_count as format_count
from turnlog.render.figures import format_size as format_size
from turnlog.session.clock import parse_timestamp

_PATH_SEPARATOR = re.compile(r"[/\\]")
_WEEK_SECONDS = 7 * 86400


def describe_age(seconds: float, now: float | None = None) -> str:
    """How long ago a time was, for a week; after that its date."""
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
    """A time in seconds since 1970, in the time zone of this machine: `2026-11-03 14:05`."""
    try:
        return "unknown time" if seconds is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
    except (ValueError, OverflowError, OSError):  # years that the machine's own calendar does not reach
        return "unknown time"


def format_datetime_attribute(seconds: float | None) -> str:
    """A time for the attribute `datetime`; empty if nobody knows it."""
    try:
        return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return ""


def parse_seconds(text: str | None) -> float | None:
    """A timestamp of the client in seconds since 1970."""
    found = parse_timestamp(text)
    return found.timestamp() if found else None


def format_seconds(seconds: float | None) -> str:
    """A duration in few letters: `12 s`, `3 min`, `2 h 5 min`, `3 days`."""
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
    """A number in few letters: 999, 12.3k, 4.5M, 1.2G."""
    amount, unit = float(number), ""
    for unit in ("", "k", "M", "G", "T"):
        if abs(amount) < 999.5 or unit == "T":
            break
        amount /= 1000
    return f"{amount:.0f}{unit}" if not unit or abs(amount) >= 99.95 else f"{amount:.1f}{unit}"


def format_axis_number(number: float) -> str:
    """A round number in few letters, for an axis: 40M."""
    return format_short_number(number).replace(".0", "")


def format_usd(dollars: float) -> str:
    """An amount of US dollars; below a cent with more digits."""
    sign, amount = ("-" if dollars < 0 else ""), abs(dollars)
    return f"{sign}${amount:,.2f}" if amount >= 0.01 or amount == 0 else f"{sign}${amount:.4f}"


def format_share(part: float, whole: float) -> str:
    """A part of a whole in percent."""
    return f"{part / whole:.1%}" if whole else "–"


def folder_name(path: str | None) -> str:
    """The name of a folder."""
    return _PATH_SEPARATOR.split((path or "").rstrip("/\\"))[-1] or path or "–"


def model_name(name: str | None) -> str:
    """A model's name without what all have in common: `opus-5`."""
    if not name:
        return "unknown"
    return re.sub(r"-20\d{6}$", "", name.removeprefix("claude-"))
