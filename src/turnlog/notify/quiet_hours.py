"""Quiet hours: a daily range of local time in which nothing is sent."""

from __future__ import annotations

import re
from datetime import datetime, time

from msgspec import Struct

_RANGE_PATTERN = re.compile(r"(\d{1,2}):(\d{2})\s*(?:-|–)\s*(\d{1,2}):(\d{2})", re.ASCII)


class QuietHours(Struct, frozen=True):
    """A range of local time that includes its start and excludes its end; it may span midnight."""

    start: time
    end: time

    def contains(self, moment: datetime) -> bool:
        """Return whether a moment, given in local time, is within the range."""
        clock = moment.time().replace(tzinfo=None)
        if self.start < self.end:
            return self.start <= clock < self.end
        return clock >= self.start or clock < self.end

    def __str__(self) -> str:
        return f"{self.start:%H:%M}-{self.end:%H:%M}"


def parse_quiet_hours(text: object) -> QuietHours | None:
    """Parse a range such as `22:00-07:00`; return None if it is not a range."""
    match = _RANGE_PATTERN.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        return None
    try:
        start, end = time(int(match[1]), int(match[2])), time(int(match[3]), int(match[4]))
    except ValueError:
        return None
    return QuietHours(start, end) if start != end else None
