"""One file that is followed: the session's own, or a sub-agent's."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.file_ends import open_regular_file, read_at, split_lines
from turnlog.entries.reader import scan_lines
from turnlog.entries.tail import Checkpoint, make_checkpoint, read_tail
from turnlog.live.activity import Activity
from turnlog.live.window import ItemWindow
from turnlog.live.window_start import StartFinder
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline import TimelineItem

CHUNK_BYTES = 1 << 20
"""How many bytes are read at once; a longer line is read whole."""
_FIRST_TAIL_BYTES = 256 << 10
_MAX_TAIL_BYTES = 64 << 20


class ItemChange(NamedTuple):
    """An item that is new, or that has grown."""

    item: TimelineItem
    after: str | None
    """The key of the item that it follows; None if it is the first."""
    is_new: bool


class ItemsDiff(NamedTuple):
    """The changes in a sequence of items."""

    agent: str | None
    """A sub-agent whose entries are inside the file; None for the file's own items."""
    changes: list[ItemChange]
    gone: list[str]
    """The keys of items that have become part of others."""
    excerpt: Excerpt


class FileStream:
    """The position up to which a file has been followed."""

    def __init__(self, session: Path, path: Path, agent_id: str | None, at: Checkpoint, opening: StartFinder) -> None:
        self.session = session
        self.path = path
        self.agent_id = agent_id
        self.checkpoint = at
        self._opening = opening
        self._window: ItemWindow | None = None

    def open_window(self) -> ItemWindow:
        """Return a window on the last items before the current position."""
        if self._window is None:
            start = self._opening.find_start(self.session, self.agent_id, self.checkpoint.offset)
            self._window = ItemWindow(self.path, start, self.checkpoint.offset, self._opening.kept)
        return self._window

    def grow(self, to: Checkpoint) -> list[ItemsDiff]:
        """Continue to a checkpoint; return what has changed."""
        window = self.open_window()
        before = _group_items(window)
        window.grow(to.offset)
        self.checkpoint = to
        excerpt = window.build_excerpt()
        diffs = [
            _compare_items(agent, before.get(agent, []), items, excerpt)
            for agent, items in _group_items(window).items()
        ]
        window.drop_old_items()
        return [diff for diff in diffs if diff.changes or diff.gone]

    def list_all_items(self) -> list[ItemsDiff]:
        """Return everything in the window."""
        window = self.open_window()
        excerpt = window.build_excerpt()
        return [_compare_items(agent, [], items, excerpt) for agent, items in _group_items(window).items() if items]

    def close(self) -> None:
        """Close the window; it is opened again when needed."""
        if self._window is not None:
            self._window.close()
            self._window = None


def _group_items(window: ItemWindow) -> dict[str | None, list[TimelineItem]]:
    """Group the items: those of the file, and those of each sub-agent inside it."""
    return {None: window.items, **dict(window.iter_agent_items())}


def _compare_items(
    agent: str | None, before: Sequence[TimelineItem], after: Sequence[TimelineItem], excerpt: Excerpt
) -> ItemsDiff:
    known = {item.key: item for item in before}
    changes: list[ItemChange] = []
    previous: str | None = None
    for item in after:
        if known.get(item.key) != item:
            changes.append(ItemChange(item, previous, item.key not in known))
        previous = item.key
    gone = known.keys() - {item.key for item in after}
    return ItemsDiff(agent, changes, [key for key in known if key in gone], excerpt)


def iter_checkpoints(path: Path, begin: Checkpoint, end: Checkpoint) -> Iterator[Checkpoint]:
    """Yield the steps from one checkpoint of a file to a later one of the same file."""
    while begin.offset < end.offset:
        tail = read_tail(path, begin, CHUNK_BYTES)
        if tail.reset or not tail.data or tail.checkpoint.offset >= end.offset:
            break
        begin = tail.checkpoint
        yield begin
    yield end


class FileTail(NamedTuple):
    """The last whole lines before an offset."""

    data: bytes
    start: int
    """Where they start in the file."""


def read_last_lines(path: Path, end: int) -> FileTail:
    """Read the last lines before an offset: about 256 KB, or more if a line is longer; raise OSError on failure."""
    size = _FIRST_TAIL_BYTES
    fd, _ = open_regular_file(path)
    try:
        while True:
            start = max(end - size, 0)
            data = read_at(fd, start, end - start)
            skipped = 0 if start == 0 else data.find(b"\n") + 1
            if start == 0 or 0 < skipped < len(data) or size >= _MAX_TAIL_BYTES:
                return FileTail(data[skipped:], start + skipped)
            size *= 8
    finally:
        os.close(fd)


def read_activity(path: Path, end: int, *, is_agent: bool) -> Activity:
    """Fold the last lines before an offset into the work in progress."""
    fold = Activity(is_agent=is_agent)
    try:
        tail = read_last_lines(path, end)
    except OSError:
        return fold
    return fold.add_all(scan_lines(split_lines(tail.data), tail.start))


def find_last_checkpoint(path: Path, end: int | None = None) -> Checkpoint:
    """Return the checkpoint after the last whole line of a file, or of its first `end` bytes; may raise OSError."""
    fd, status = open_regular_file(path)
    try:
        end = status.st_size if end is None else min(end, status.st_size)
        while end > 0:
            start = max(end - _FIRST_TAIL_BYTES, 0)
            line_end = read_at(fd, start, end - start).rfind(b"\n")
            if line_end >= 0:
                return make_checkpoint(fd, start + line_end + 1)
            end = start
        return make_checkpoint(fd, 0)
    finally:
        os.close(fd)
