"""Reads some lines of a session file as a session of their own, without reading all of a long session."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from turnlog.entries.entry import Entry, Scrap
from turnlog.entries.reader import TranscriptSource
from turnlog.session.session import Session
from turnlog.session.timeline.timeline import LinePlace, TimelineItem


class Excerpt:
    """Lines from a file with their offsets in it."""

    def __init__(self, session: Session, starts: list[int], places: list[int]) -> None:
        self.session = session
        self._starts = starts
        """The offset of each line in the excerpt."""
        self._places = places
        """The offset of each line in the file."""
        self._at = {self.find_offset(item): item for item in session.file.items}

    @classmethod
    def from_session(cls, session: Session) -> Excerpt:
        """Wrap a session that was opened as a whole."""
        return cls(session, [0], [0])

    @classmethod
    def read(cls, source: TranscriptSource, items: Iterable[TimelineItem]) -> Excerpt:
        """Read the lines of the given timeline items, and those that contain the results of their calls."""
        wanted = sorted({LinePlace(*place) for item in items for place in (*item.lines, *item.results)})
        starts, places, data = [], [], bytearray()
        for offset, size in wanted:
            starts.append(len(data))
            places.append(offset)
            data += source.read(offset, size).rstrip(b"\r\n") + b"\n"
        return cls(Session.from_bytes(bytes(data)), starts, places)

    def find_offset(self, item: Entry | Scrap) -> int:
        """Return the offset of an entry in the file."""
        place = bisect_right(self._starts, item.offset) - 1
        return self._places[place] + item.offset - self._starts[place]

    def find_item_at(self, offset: int) -> Entry | Scrap | None:
        """Return the entry or scrap at an offset in the file."""
        return self._at.get(offset)

    def find_entry(self, place: LinePlace) -> Entry | None:
        """Return the entry at a place in a timeline, or None for a broken line."""
        item = self._at.get(place[0])
        return item if isinstance(item, Entry) else None
