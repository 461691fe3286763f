"""One file that is followed: the session's own, or a sub-agent's."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.reader import scan
from turnlog.entries.tail import Checkpoint, mark, read_tail
from turnlog.entries.window import lines_of, open_regular, read_at
from turnlog.live.fold import Fold
from turnlog.live.opening import Opening
from turnlog.live.window import Window
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline import Item

CHUNK = 1 << 20
"""So many bytes are taken in at once, or one longer line."""
_TOLD = 256 << 10
_MOST_TOLD = 64 << 20


class Change(NamedTuple):
    """An item that is new, or that has grown."""

    item: Item
    after: str | None
    """The key of the item that it follows; None: it is the first."""
    is_new: bool


class Grown(NamedTuple):
    """What has changed in a line of items."""

    agent: str | None
    """A sub-agent whose entries stand inside the file; None: the file's own items."""
    changes: list[Change]
    gone: list[str]
    """The keys of items that have become part of others."""
    excerpt: Excerpt


class Stream:
    """How far a file was followed."""

    def __init__(self, session: Path, path: Path, agent_id: str | None, at: Checkpoint, opening: Opening) -> None:
        self.session = session
        self.path = path
        self.agent_id = agent_id
        self.checkpoint = at
        self._opening = opening
        self._window: Window | None = None

    def window(self) -> Window:
        """The last items up to where the file was followed."""
        if self._window is None:
            start = self._opening.start(self.session, self.agent_id, self.checkpoint.offset)
            self._window = Window(self.path, start, self.checkpoint.offset, self._opening.kept)
        return self._window

    def grow(self, to: Checkpoint) -> list[Grown]:
        """Go on to a checkpoint; what has changed."""
        window = self.window()
        before = _lines(window)
        window.grow(to.offset)
        self.checkpoint = to
        excerpt = window.excerpt()
        found = [_compared(agent, before.get(agent, []), items, excerpt) for agent, items in _lines(window).items()]
        window.cut()
        return [grown for grown in found if grown.changes or grown.gone]

    def shown(self) -> list[Grown]:
        """All that is in the window."""
        window = self.window()
        excerpt = window.excerpt()
        return [_compared(agent, [], items, excerpt) for agent, items in _lines(window).items() if items]

    def close(self) -> None:
        """Let go of the window; it is made again when asked for."""
        if self._window is not None:
            self._window.close()
            self._window = None


def _lines(window: Window) -> dict[str | None, list[Item]]:
    """The items of a file, and those of each sub-agent inside it."""
    return {None: window.items, **dict(window.streams())}


def _compared(agent: str | None, before: Sequence[Item], after: Sequence[Item], excerpt: Excerpt) -> Grown:
    known = {item.key: item for item in before}
    changes: list[Change] = []
    previous: str | None = None
    for item in after:
        if known.get(item.key) != item:
            changes.append(Change(item, previous, item.key not in known))
        previous = item.key
    gone = known.keys() - {item.key for item in after}
    return Grown(agent, changes, [key for key in known if key in gone], excerpt)


def pursued(path: Path, begin: Checkpoint, end: Checkpoint) -> Iterator[Checkpoint]:
    """The steps from one checkpoint of a file to a later one of the same file."""
    while begin.offset < end.offset:
        tail = read_tail(path, begin, CHUNK)
        if tail.reset or not tail.data or tail.checkpoint.offset >= end.offset:
            break
        begin = tail.checkpoint
        yield begin
    yield end


def told(path: Path, end: int, *, is_agent: bool) -> Fold:
    """What the last lines before an offset tell of the work in progress."""
    fold = Fold(is_agent=is_agent)
    size = _TOLD
    try:
        fd, _ = open_regular(path)
    except OSError:
        return fold
    try:
        while True:
            start = max(end - size, 0)
            data = read_at(fd, start, end - start)
            skipped = 0 if start == 0 else data.find(b"\n") + 1
            if start == 0 or 0 < skipped < len(data) or size >= _MOST_TOLD:
                break
            size *= 8
    finally:
        os.close(fd)
    return fold.add_all(scan(lines_of(data[skipped:]), start + skipped))


def present(path: Path) -> Checkpoint:
    """The checkpoint behind the last whole line of a file as it is now; raises OSError."""
    fd, status = open_regular(path)
    try:
        end, size = status.st_size, _TOLD
        while end > 0:
            start = max(end - size, 0)
            found = read_at(fd, start, end - start).rfind(b"\n")
            if found >= 0:
                return mark(fd, start + found + 1)
            end = start
        return mark(fd, 0)
    finally:
        os.close(fd)
