"""When spans begin and end: nanoseconds, from the timestamps of entries alone.

An entry without a usable time has that of the nearest one before it; a span whose times were borrowed in this way, or
whose end would come before its start, says so.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from turnlog.entries.entry import Entry
from turnlog.entries.reader import Transcript
from turnlog.session.clock import parse_timestamp

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_NANOSECONDS = 1 << 63
"""What 64 bits with a sign can hold; nobody works after the year 2262."""


class SpanTimes(NamedTuple):
    """When a span begins and ends."""

    start: int
    end: int
    borrowed: bool = False
    """A time was missing and is that of a neighbour."""
    clamped: bool = False
    """The end came before the start, and was moved there."""


@lru_cache(4096)
def to_nanoseconds(text: str | None) -> int | None:
    """The time that a timestamp names in nanoseconds since 1970; None if it names none that can be sent."""
    found = parse_timestamp(text)
    if found is None:
        return None
    since = found - _EPOCH
    time = (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1_000
    return time if 0 <= time < _MAX_NANOSECONDS else None


class EntryClock:
    """The times of the entries of one file."""

    def __init__(self, file: Transcript) -> None:
        self._file = file
        self._before: list[int | None] | None = None

    def read_time(self, entry: Entry) -> int | None:
        """When an entry was written, or the nearest one before it."""
        found = to_nanoseconds(entry.timestamp)
        return self._find_earlier_time(entry) if found is None else found

    def read_times(self, first: Entry, *others: Entry) -> SpanTimes:
        """From an entry to the latest of some others; the entries of one span, in the order of the file."""
        found = [to_nanoseconds(entry.timestamp) for entry in (first, *others)]
        if not (borrowed := None in found):
            given = [time for time in found if time is not None]
        else:
            given = [time for entry in (first, *others) if (time := self.read_time(entry)) is not None] or [0]
        start, end = given[0], max(given[1:], default=given[0])
        return SpanTimes(start, max(start, end), borrowed, end < start)

    def _find_earlier_time(self, entry: Entry) -> int | None:
        if self._before is None:
            self._before, last = [], None
            for other in self._file.entries:
                time = to_nanoseconds(other.timestamp)
                last = last if time is None else time
                self._before.append(last)
        return self._before[entry.index]
