"""Some lines of a session file, read as a session of their own: a part of a long session, without reading the rest."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from turnlog.entries.entry import Entry, Scrap
from turnlog.entries.reader import TranscriptSource
from turnlog.session.session import Session
from turnlog.session.timeline.timeline import LinePlace, TimelineItem


class Excerpt:
    """Lines of a file with the places that they have there."""

    def __init__(self, session: Session, starts: list[int], places: list[int]) -> None:
        self.session = session
        self._starts = starts
        """Where each line begins in the excerpt, and …"""
        self._places = places
        """… in the file."""
        self._at = {self.find_offset(item): item for item in session.file.items}

    @classmethod
    def from_session(cls, session: Session) -> Excerpt:
        """A session that was opened whole."""
        return cls(session, [0], [0])

    @classmethod
    def read(cls, source: TranscriptSource, items: Iterable[TimelineItem]) -> Excerpt:
        """The lines of some items of a timeline, and those with the results of their calls."""
        wanted = sorted({LinePlace(*place) for item in items for place in (*item.lines, *item.results)})
        starts, places, data = [], [], bytearray()
        for offset, size in wanted:
            starts.append(len(data))
            places.append(offset)
            data += source.read(offset, size).rstrip(b"\r\n") + b"\n"
        return cls(Session.from_bytes(bytes(data)), starts, places)

    def find_offset(self, item: Entry | Scrap) -> int:
        """Where an entry begins in the file."""
        place = bisect_right(self._starts, item.offset) - 1
        return self._places[place] + item.offset - self._starts[place]

    def find_item_at(self, offset: int) -> Entry | Scrap | None:
        """What begins at a place in the file."""
        return self._at.get(offset)

    def find_entry(self, place: LinePlace) -> Entry | None:
        """The entry at a place of a timeline; None for a broken line."""
        found = self._at.get(place[0])
        return found if isinstance(found, Entry) else None
