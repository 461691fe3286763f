"""The blocks of one line by the call that they belong to.

A line may contain thousands of calls or results, each of which is looked up on its own. Such a crowded line is decoded
once and kept for a while; decoding it for each of its blocks would take minutes.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

from turnlog.entries.entry import Body, Entry

BlockMap = dict[str | None, dict[str, Any]]
MIN_CROWDED_BLOCKS = 16
MAX_KEPT_BYTES = 16 << 20
"""The total size of the crowded lines that are kept of a file; the last two, of calls and their results, always are."""
_MIN_KEPT_LINES = 2


class EntryBodies(Protocol):
    """Access to the bytes and decoded bodies of entries."""

    def read_raw(self, item: Entry) -> bytes:
        """Return the bytes of an entry."""

    def read_head(self, item: Entry, size: int) -> bytes:
        """Return at most `size` bytes from the start of an entry."""

    def read_body(self, entry: Entry) -> Body:
        """Return the whole object of an entry."""


class LineBlocks(NamedTuple):
    """A decoded line."""

    body: Body
    calls: BlockMap
    """The first block with each id, and the first without one."""
    results: BlockMap
    """The first block that answers each call, and the first that names none."""


class _KeptLines:
    def __init__(self) -> None:
        self._lines: OrderedDict[tuple[int, int], LineBlocks] = OrderedDict()
        self._bytes = 0

    def get_line(self, place: tuple[int, int]) -> LineBlocks | None:
        if place in self._lines:
            self._lines.move_to_end(place)
        return self._lines.get(place)

    def keep_line(self, place: tuple[int, int], line: LineBlocks) -> None:
        self._lines[place] = line
        self._bytes += place[1]
        while self._bytes > MAX_KEPT_BYTES and len(self._lines) > _MIN_KEPT_LINES:
            (_, size), _ = self._lines.popitem(last=False)
            self._bytes -= size


_kept_lines: WeakKeyDictionary[EntryBodies, _KeptLines] = WeakKeyDictionary()


def is_crowded(entry: Entry) -> bool:
    """Return whether a line has so many blocks that it should not be decoded for each of them."""
    content = entry.message.content if entry.message else None
    return isinstance(content, list) and len(content) >= MIN_CROWDED_BLOCKS


def read_line_blocks(file: EntryBodies, entry: Entry) -> LineBlocks:
    """Decode a line, unless it is a crowded one that was decoded lately."""
    if not is_crowded(entry):
        return _decode_line(file, entry)
    kept = _kept_lines.setdefault(file, _KeptLines())
    place = entry.offset, entry.size
    line = kept.get_line(place)
    if line is None:
        line = _decode_line(file, entry)
        kept.keep_line(place, line)
    return line


def _decode_line(file: EntryBodies, entry: Entry) -> LineBlocks:
    body = file.read_body(entry)
    message = body.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return LineBlocks(body, _map_blocks(blocks, "id"), _map_blocks(blocks, "tool_use_id"))


def _map_blocks(blocks: list[dict[str, Any]], key: str) -> BlockMap:
    return {name: block for block in reversed(blocks) if isinstance(name := block.get(key), str | None)}
