"""What people write for times, ages and sizes, as numbers."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta

from turnlog.errors import UsageError

_AGE_PATTERN = re.compile(r"(\d+)\s*(h|d|w|m|y)", re.IGNORECASE)
_UNIT_HOURS = {"h": 1, "d": 24, "w": 24 * 7, "m": 24 * 30, "y": 24 * 365}
_SIZE_PATTERN = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", re.IGNORECASE)


def parse_typed_time(text: str) -> datetime:
    """A date or a time of this machine; a mere date means the end of that day."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(f"{text!r} is no time; write 2026-11-03 or 2026-11-03T14:05") from None
    if len(text.strip()) <= 10:
        found += timedelta(days=1) - timedelta(microseconds=1)
    return found.astimezone()


def parse_generation(text: str | None) -> int | datetime | None:
    """A generation's number, or a time."""
    if text is None:
        return None
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else parse_typed_time(text)


def parse_age_ns(text: str | None) -> int | None:
    """The time that lies an age back, or a date, in nanoseconds since 1970."""
    if text is None:
        return None
    if age := _AGE_PATTERN.fullmatch(text.strip()):
        return time.time_ns() - int(age[1]) * _UNIT_HOURS[age[2].lower()] * 3600 * 10**9
    try:
        return int(parse_typed_time(text).timestamp() * 1e9)
    except UsageError:
        raise UsageError(f"{text!r} is no age; write 90d, 12w, 2y or a date such as 2026-11-03") from None


def parse_size_bytes(text: str | None) -> int | None:
    """A number of bytes: `500MB`, `2 GB`, `1.5GiB`."""
    if text is None:
        return None
    found = _SIZE_PATTERN.fullmatch(text.strip())
    if not found:
        raise UsageError(f"{text!r} is no size; write 500MB or 2GB")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** " KMGT".index(found[2].upper() or " "))
