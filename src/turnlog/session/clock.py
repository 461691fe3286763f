"""Parses and formats entry timestamps, as the client does."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_ISO_TIME = re.compile(
    r"(\d{4}-\d\d)-(0[1-9]|[12]\d|3[01])(?:[Tt ](\d\d:\d\d)(?::(\d\d)(?:\.(\d+))?)? ?([Zz]|[+-]\d\d:?\d\d)?)?", re.ASCII
)
_CLIENT_TIME = re.compile(r"\d{4}-\d\d-(?:[01]\d|2[0-8])T\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
"""A time as the client writes it, restricted to days that every month has."""
_WORDED_DATE = re.compile(r"([A-Za-z]{3})[a-z]* (\d{1,2}),? (\d{4})", re.ASCII)
_MONTH_NUMBERS = frozenset(map(str, range(1, 13)))


def parse_timestamp(text: object) -> datetime | None:
    """Parse a timestamp as a UTC time; numbers are milliseconds since 1970. Return None if the timestamp is invalid."""
    try:
        if isinstance(text, str):
            return _parse_date_text(text)
        if isinstance(text, int | float) and not isinstance(text, bool):
            return datetime.fromtimestamp(text / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def _parse_date_text(text: str) -> datetime:
    """Parse text as `Date.parse` does in the client, which accepts more than ISO times but not every ISO form."""
    if _CLIENT_TIME.fullmatch(text):
        return datetime.fromisoformat(text)
    if iso_time := _ISO_TIME.fullmatch(text):
        year_month, day, hour, second, fraction, zone = iso_time.groups()
        time = datetime.fromisoformat(f"{year_month}-01T{hour or '00:00'}:{second or '00'}.{(fraction or '0'):0<6.6}")
        time += timedelta(days=int(day) - 1)  # as in JavaScript, 30 February is a day in March
        zone = zone or ("" if hour else "Z")
        return datetime.fromisoformat(time.isoformat() + zone.upper()).astimezone(UTC)
    if text in _MONTH_NUMBERS:
        return datetime(2001, int(text), 1, tzinfo=UTC)
    if date := _WORDED_DATE.fullmatch(text):
        return datetime.strptime(" ".join(date.groups()), "%b %d %Y").astimezone(UTC)
    from email.utils import parsedate_to_datetime  # imported late because it takes as long as starting Python

    return parsedate_to_datetime(text).astimezone(UTC)


def to_epoch_milliseconds(text: object) -> float | None:
    """Convert a timestamp to milliseconds since 1970; return None if it is invalid."""
    time = parse_timestamp(text)
    return None if time is None else time.timestamp() * 1000


def to_iso_time(time: datetime | None) -> str | None:
    """Format a time as the client does: in UTC, with milliseconds and `Z`."""
    return None if time is None else time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def normalize_timestamp(text: object) -> str | None:
    """Return a timestamp as the client writes it: UTC with milliseconds and Z; None if it is not a time."""
    if not isinstance(text, str) or not _CLIENT_TIME.fullmatch(text):
        return to_iso_time(parse_timestamp(text))
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return None
    return text


@lru_cache(64)
def _parse_hour(text: str) -> int | None:
    time = parse_timestamp(f"{text}:00:00.000Z")
    return None if time is None else int(time.timestamp())


def to_epoch_seconds(text: str | None) -> int:
    """Quickly convert a timestamp to whole seconds since 1970; return 0 if it is not a time."""
    if text is None:
        return 0
    if (
        len(text) == 24
        and text[23] == "Z"
        and text[13] == text[16] == ":"
        and (hour := _parse_hour(text[:13])) is not None
    ):
        try:
            return hour + 60 * int(text[14:16]) + int(text[17:19])
        except ValueError:
            pass
    time = parse_timestamp(text)
    return 0 if time is None else int(time.timestamp())
