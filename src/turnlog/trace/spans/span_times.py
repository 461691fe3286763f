"""When spans start and end, in nanoseconds, based only on the timestamps of entries.

An entry without a usable time gets the time of the nearest entry before it; a span with such a borrowed time, or whose
end would come before its start, has an attribute that indicates this.
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
"""The range of signed 64-bit integers, which ends in the year 2262."""


class SpanTimes(NamedTuple):
    """When a span starts and ends."""

    start: int
    end: int
    borrowed: bool = False
    """Whether a time was missing and a neighbouring entry's time is used."""
    clamped: bool = False
    """Whether the end was before the start and was moved to it."""


@lru_cache(4096)
def to_nanoseconds(text: str | None) -> int | None:
    """Convert a timestamp to nanoseconds since 1970; return None if it can't be sent."""
    time = parse_timestamp(text)
    if time is None:
        return None
    elapsed = time - _EPOCH
    nanoseconds = (elapsed.days * 86_400 + elapsed.seconds) * 1_000_000_000 + elapsed.microseconds * 1_000
    return nanoseconds if 0 <= nanoseconds < _MAX_NANOSECONDS else None


class EntryClock:
    """The times of the entries of one file."""

    def __init__(self, file: Transcript) -> None:
        self._file = file
        self._before: list[int | None] | None = None

    def read_time(self, entry: Entry) -> int | None:
        """Return when an entry, or the nearest one before it, was written."""
        time = to_nanoseconds(entry.timestamp)
        return self._find_earlier_time(entry) if time is None else time

    def read_times(self, first: Entry, *others: Entry) -> SpanTimes:
        """Return the times of a span: from its first entry to the latest time of its other entries."""
        stamps = [to_nanoseconds(entry.timestamp) for entry in (first, *others)]
        if not (borrowed := None in stamps):
            times = [time for time in stamps if time is not None]
        else:
            times = [time for entry in (first, *others) if (time := self.read_time(entry)) is not None] or [0]
        start, end = times[0], max(times[1:], default=times[0])
        return SpanTimes(start, max(start, end), borrowed, end < start)

    def _find_earlier_time(self, entry: Entry) -> int | None:
        if self._before is None:
            self._before, last = [], None
            for other in self._file.entries:
                time = to_nanoseconds(other.timestamp)
                last = last if time is None else time
                self._before.append(last)
        return self._before[entry.index]
