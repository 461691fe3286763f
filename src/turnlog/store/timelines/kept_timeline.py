"""One stored timeline, with its head in memory and the rest read on demand."""

from __future__ import annotations

import threading
import weakref
from array import array
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec
from msgspec import Struct

from turnlog.entries.file_stamp import get_ctime_ns
from turnlog.entries.reader import FileSource
from turnlog.errors import NotFound
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline import FillStep, TimelineBranch, TimelineHead, TimelineItem

TIMELINE_VERSION = 8
_MAX_HEAD_BYTES = 1 << 28
"""A head that claims to be larger is damaged."""


class TimelineFileState(Struct, array_like=True, frozen=True):
    """The state of a file when it was read."""

    path: str
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def from_path(cls, path: Path) -> TimelineFileState:
        """Return the current state of a file; raise `OSError` if it doesn't exist."""
        status = path.stat()
        return cls(str(path), status.st_ino, status.st_size, status.st_mtime_ns, get_ctime_ns(status))

    def is_unchanged(self) -> bool:
        try:
            return TimelineFileState.from_path(Path(self.path)) == self
        except OSError:
            return False


class TimelineSources(Struct, array_like=True):
    """The files that a stored timeline was built from."""

    version: int
    path: str
    """The file that its line offsets refer to: the session's, or the sub-agent's own."""
    states: list[TimelineFileState]
    is_whole: bool = True
    """Whether the timeline covers the whole file, not only its start."""


class TimelineContent(Struct, array_like=True):
    """The header of a timeline file."""

    stored: TimelineSources
    head: TimelineHead
    sections: list[int]
    """The sizes of the sections that follow: pieces of items, fill steps, line offsets, and the items these lines
    belong to.
    """
    piece: int
    """How many items a piece contains."""


class _PlacedBranch(NamedTuple):
    line: TimelineBranch
    starts: list[int]
    """How many items come before each chapter of the branch; the last number is their total."""


_decode_content = msgspec.msgpack.Decoder(TimelineContent).decode
_decode_items = msgspec.msgpack.Decoder(list[TimelineItem]).decode
_decode_steps = msgspec.msgpack.Decoder(list[FillStep]).decode


class KeptTimeline:
    """A timeline read back from its file."""

    def __init__(self, file: BinaryIO, content: TimelineContent, begin: int) -> None:
        self.head = content.head
        self.path = Path(content.stored.path)
        self.states = content.stored.states
        self.is_whole = content.stored.is_whole
        self._file = file
        """Kept open, because another process may replace the timeline with a newer one."""
        weakref.finalize(self, file.close)  # with `__del__`, in a cycle, the file's own would run first and warn
        self._lock = threading.Lock()
        self._piece = content.piece
        self._sections = list(pairwise(accumulate(content.sections, initial=begin)))
        self._branches = {line.leaf: self._place_branch(line) for line in content.head.branches}
        self._pieces: dict[int, list[TimelineItem]] = {}

    @classmethod
    def load(cls, place: Path) -> KeptTimeline | None:
        """Read the head of a timeline; return None if there is no usable one."""
        try:
            file = place.open("rb")
        except OSError:
            return None
        try:
            size = int.from_bytes(file.read(8), "little")
            content = _decode_content(file.read(size)) if size < _MAX_HEAD_BYTES else None
        except (OSError, msgspec.MsgspecError):
            content = None
        if content is None or content.stored.version != TIMELINE_VERSION:
            file.close()
            return None
        return cls(file, content, 8 + size)

    def is_current(self) -> bool:
        """Return whether the files are unchanged since the timeline was built."""
        return all(state.is_unchanged() for state in self.states)

    # -- branches

    def _place_branch(self, line: TimelineBranch) -> _PlacedBranch:
        counts = (self.head.chapters[place].count for place in line.chapters)
        return _PlacedBranch(line, list(accumulate(counts, initial=0)))

    def _get_placed_branch(self, leaf: str | None) -> _PlacedBranch:
        if leaf is None:
            return self._branches[self.head.branches[0].leaf]
        if leaf not in self._branches:
            raise NotFound(f"{self.path}: no branch ends with entry {leaf}")
        return self._branches[leaf]

    def get_branch(self, leaf: str | None = None) -> TimelineBranch:
        """Return a branch by its leaf or, without a leaf, the current branch."""
        return self._get_placed_branch(leaf).line

    def count_items(self, leaf: str | None = None) -> int:
        return self._get_placed_branch(leaf).starts[-1]

    # -- items

    def read_items(self, leaf: str | None, first: int, count: int) -> list[TimelineItem]:
        """Read items by their positions in a branch."""
        line, starts = self._get_placed_branch(leaf)
        items: list[TimelineItem] = []
        chapter = bisect_right(starts, first) - 1
        while chapter < len(line.chapters) and len(items) < count:
            skip = max(first - starts[chapter], 0)
            own = self.head.chapters[line.chapters[chapter]]
            items += self._read_numbered_items(own.first + skip, min(own.count - skip, count - len(items)))
            chapter += 1
        return items

    def _read_numbered_items(self, first: int, count: int) -> list[TimelineItem]:
        """Read items by their numbers among the items of all branches."""
        items: list[TimelineItem] = []
        for number in range(first // self._piece, (first + count - 1) // self._piece + 1 if count > 0 else 0):
            start = number * self._piece
            items += self._read_piece(number)[max(first - start, 0) : first + count - start]
        return items

    def _read_piece(self, number: int) -> list[TimelineItem]:
        if number not in self._pieces:
            if len(self._pieces) > 16:
                self._pieces = {}
            self._pieces[number] = _decode_items(self._read_section(number))
        return self._pieces[number]

    def _read_section(self, number: int) -> bytes:
        begin, end = self._sections[number]
        with self._lock:
            self._file.seek(begin)
            return self._file.read(end - begin)

    # -- finding

    def find_position(self, leaf: str | None, key: str) -> int | None:
        """Find an item's position in a branch by its key, or by the uuid or offset of any of its entries."""
        if key.startswith("@"):
            return self.find_position_at(leaf, int(key[1:])) if key[1:].isdecimal() else None
        number = self._find_item_number(key)
        if number is None and (offset := self._find_line_offset(key)) is not None:
            return self.find_position_at(leaf, offset)
        return None if number is None else self._to_branch_position(leaf, number)

    def find_position_at(self, leaf: str | None, offset: int) -> int | None:
        """Find the position in a branch of the item that contains a line of the file."""
        places, owners = self._line_owners
        at = bisect_right(places, offset) - 1
        return self._to_branch_position(leaf, owners[at]) if at >= 0 else None

    def _to_branch_position(self, leaf: str | None, number: int) -> int | None:
        line, starts = self._get_placed_branch(leaf)
        chapter = bisect_right(self._chapter_starts, number) - 1
        at = bisect_right(line.chapters, chapter) - 1
        if at < 0 or line.chapters[at] != chapter:
            return None
        return starts[at] + number - self._chapter_starts[chapter]

    @cached_property
    def _chapter_starts(self) -> list[int]:
        return [chapter.first for chapter in self.head.chapters]

    @cached_property
    def _line_owners(self) -> tuple[array[int], array[int]]:
        places, owners = array("Q"), array("I")
        places.frombytes(self._read_section(-2))
        owners.frombytes(self._read_section(-1))
        return places, owners

    def _find_item_number(self, key: str) -> int | None:
        wanted = key.encode("utf-8", "surrogatepass")
        for number in range(len(self._sections) - 3):
            if number in self._pieces or wanted in self._read_section(number):
                for at, item in enumerate(self._read_piece(number)):
                    if item.key == key:
                        return number * self._piece + at
        return None

    def _find_line_offset(self, uuid: str) -> int | None:
        """Find the offset of an entry's line when the entry isn't the first of its item."""
        wanted = f'"uuid":"{uuid}"'.encode("utf-8", "surrogatepass")
        offset = 0
        with self.path.open("rb") as file:
            for line in file:
                if wanted in line:
                    return offset
                offset += len(line)
        return None

    # -- contents

    def read_excerpt(self, items: list[TimelineItem]) -> Excerpt:
        """Read the lines of the given items from the file."""
        source = FileSource(self.path)
        try:
            return Excerpt.read(source, items)
        finally:
            source.close()

    def read_steps(self) -> list[FillStep]:
        """Read how full the context window was at each message."""
        return _decode_steps(self._read_section(-3))
