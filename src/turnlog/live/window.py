"""The last items of a growing file: a partial session that starts near the end, and drops its oldest items.

The content of a window at an offset depends only on the bytes before that offset. This makes following exact: a
returning reader's cursor opens a window at its position, which then grows to the current end without gaps.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.file_ends import split_lines
from turnlog.entries.reader import FileSource, Transcript
from turnlog.entries.tail import Checkpoint
from turnlog.session.session import Session
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.item_sequence import ItemSequence
from turnlog.session.timeline.timeline import LinePlace, TimelineItem

_READ_BLOCK_BYTES = 1 << 20
KEPT_ITEMS = 160
"""How many items of a file are kept; the window is cut back to this number when it has twice as many."""


class WindowStart(NamedTuple):
    """Where a window starts."""

    offset: int = 0
    turns: int = 0
    """The number of turns before it, without that of the prompt."""
    prompt: LinePlace | None = None
    """The line that started the turn, if the window starts in the middle of one."""


class FileSlice:
    """A part of a file as a source: the line of a prompt, and a range of the file."""

    def __init__(self, file: FileSource, start: WindowStart, end: int) -> None:
        self._file = file
        self.start = start
        self.end = end
        prompt = start.prompt
        self.lead = file.read(*prompt).rstrip(b"\r\n") + b"\n" if prompt else b""

    @property
    def places(self) -> tuple[list[int], list[int]]:
        """The offsets of the parts in the slice, and in the file."""
        prompt = self.start.prompt
        if prompt is None:
            return [0], [self.start.offset]
        return [0, len(self.lead)], [prompt.offset, self.start.offset]

    def read(self, offset: int, size: int) -> bytes:
        """Read bytes at an offset of the slice."""
        if offset < len(self.lead):
            return self.lead[offset : offset + size]
        return self._file.read(self.start.offset + offset - len(self.lead), size)

    def read_lines(self, offset: int) -> Iterator[bytes]:
        """Yield the lines starting at an offset."""
        if offset < len(self.lead):
            yield self.lead
            offset = len(self.lead)
        position = self.start.offset + offset - len(self.lead)
        parts: list[bytes] = []  # parts of a line that is longer than a block
        while position < self.end:
            block = self._file.read(position, min(_READ_BLOCK_BYTES, self.end - position))
            position += len(block)
            whole = block.rfind(b"\n") + 1
            if whole:
                yield from split_lines(b"".join([*parts, block[:whole]]))
                parts = []
            parts.append(block[whole:])
        if rest := b"".join(parts):
            yield rest

    def close(self) -> None:
        self._file.close()

    def make_checkpoint(self, offset: int) -> Checkpoint | None:
        """Return None: other code checks whether the file is still the same."""
        return None


class ItemWindow:
    """The items of a file from a start up to an offset."""

    def __init__(self, path: Path, start: WindowStart, end: int, kept: int = KEPT_ITEMS) -> None:
        self._file = FileSource(path)
        self._kept = kept
        try:
            self._open_slice(start, end)
        except BaseException:
            self._file.close()
            raise

    def _open_slice(self, start: WindowStart, end: int) -> None:
        self.source = FileSlice(self._file, start, end)
        self.session = Session(Transcript(self.source))
        self.items = self._read_items()

    def grow(self, end: int) -> None:
        """Continue reading up to a later offset."""
        self.source.end = end
        self.session.refresh()
        self.items = self._read_items()

    def drop_old_items(self) -> None:
        """Drop the oldest items if there are too many."""
        if len(self.items) <= 2 * self._kept or self.session.agents:
            return
        first = _find_clean_cut(self.items, len(self.items) - self._kept)
        if first > 0:
            self._open_slice(build_start_before(self.items, first), self.source.end)

    def close(self) -> None:
        self._file.close()

    def build_excerpt(self) -> Excerpt:
        """Return the lines of the window, for rendering."""
        return Excerpt(self.session, *self.source.places)

    def iter_agent_items(self) -> Iterator[tuple[str, list[TimelineItem]]]:
        """Yield the items of sub-agents inside the file, as the oldest versions write them."""
        for agent in self.session.agents:
            yield agent.agent_id, self._list_items(self.session.open_agent_session(agent))

    def _read_items(self) -> list[TimelineItem]:
        lost = {entry.offset for entry in self.session.orphans} if self.source.start.offset else frozenset()
        return self._list_items(self.session, frozenset(lost))

    def _list_items(self, session: Session, lost: frozenset[int] = frozenset()) -> list[TimelineItem]:
        """List the items of a session, without results whose calls come before the window."""
        sequence = ItemSequence(session)
        for _ in sequence.build_chapters():
            pass
        return [self._place_item(item) for item in sequence.items if not lost.issuperset(at for at, _ in item.lines)]

    def _place_item(self, item: TimelineItem) -> TimelineItem:
        """Return an item with its places in the file."""
        starts, places = self.source.places
        prompt, turns = self.source.start.prompt, self.source.start.turns

        def move_place(place: LinePlace) -> LinePlace:
            part = bisect_right(starts, place.offset) - 1
            if prompt is not None and part == 0:
                return prompt
            return LinePlace(places[part] + place.offset - starts[part], place.size)

        lines = [move_place(LinePlace(*place)) for place in item.lines]
        is_unnamed = item.key == f"@{item.lines[0][0]}"
        return TimelineItem(
            f"@{lines[0].offset}" if is_unnamed else item.key,
            item.kind,
            item.time,
            lines,
            [move_place(LinePlace(*place)) for place in item.results],
            item.turn + turns if item.turn else 0,
        )


def _find_clean_cut(items: list[TimelineItem], wanted: int) -> int:
    """Find the last place up to `wanted` where no line of an earlier item comes after one of a later item."""
    latest = list(accumulate((max(at for at, _ in (*item.lines, *item.results)) for item in items), max))
    earliest = list(accumulate((min(at for at, _ in item.lines) for item in reversed(items)), min))[::-1]
    return next((place for place in range(wanted, 0, -1) if latest[place - 1] < earliest[place]), 0)


def build_start_before(items: list[TimelineItem], first: int) -> WindowStart:
    """Return the start of a window that shows the items starting at `first`."""
    if first <= 0 or first >= len(items):
        return WindowStart()
    item = items[first]
    offset = LinePlace(*item.lines[0]).offset
    turn = max((earlier.turn for earlier in items[:first]), default=0)
    prompt = next((one for one in items[:first] if one.turn == turn and one.kind == "prompt"), None)
    if turn == 0 or prompt is None:
        return WindowStart(offset, turn)
    return WindowStart(offset, turn - 1, LinePlace(*prompt.lines[0]))
