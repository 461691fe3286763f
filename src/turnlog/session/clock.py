"""Timestamps of entries as times."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def moment(text: object) -> datetime | None:
    """The time that a timestamp names, in UTC, or None; numbers are milliseconds since 1970."""
    try:
        if isinstance(text, str):
            return _from_text(text)
        if isinstance(text, int | float) and not isinstance(text, bool):
            return datetime.fromtimestamp(text / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def _from_text(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = parsedate_to_datetime(text)
    return found.astimezone(UTC)


def milliseconds(text: object) -> float | None:
    """The time that a timestamp names in milliseconds since 1970, or None."""
    found = moment(text)
    return None if found is None else found.timestamp() * 1000


def iso(time: datetime | None) -> str | None:
    """A time as the client writes it: UTC with milliseconds and Z."""
    return None if time is None else time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
