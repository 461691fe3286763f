"""One kept timeline: its head in memory, the rest read where it is asked for."""

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

from turnlog.entries.reader import FileSource
from turnlog.errors import NotFound
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline import Head, Item, Line, Step

VERSION = 5
_MOST = 1 << 28
"""A head is never larger: what claims to be is damaged."""


class State(Struct, array_like=True, frozen=True):
    """A file as it was when it was read."""

    path: str
    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, path: Path) -> State:
        """The present state of a file; raises OSError where there is none."""
        status = path.stat()
        return cls(str(path), status.st_ino, status.st_size, status.st_mtime_ns)

    def still_holds(self) -> bool:
        """Whether the file is as it was."""
        try:
            return State.of(Path(self.path)) == self
        except OSError:
            return False


class Stored(Struct, array_like=True):
    """What a kept timeline was made from."""

    version: int
    path: str
    """The file that its places are of: the session's, or the sub-agent's own."""
    states: list[State]
    is_whole: bool = True
    """Whether all of the file is in it, and not its beginning alone."""


class Content(Struct, array_like=True):
    """The beginning of the file of a timeline."""

    stored: Stored
    head: Head
    sections: list[int]
    """The sizes of what follows: pieces of items, steps, places of lines, the items that these are of."""
    piece: int
    """How many items a piece has."""


class _Branch(NamedTuple):
    line: Line
    starts: list[int]
    """How many items stand before each chapter of the branch; the last is their number."""


_content = msgspec.msgpack.Decoder(Content).decode
_items = msgspec.msgpack.Decoder(list[Item]).decode
_steps = msgspec.msgpack.Decoder(list[Step]).decode


class Kept:
    """A timeline that was kept."""

    def __init__(self, file: BinaryIO, content: Content, begin: int) -> None:
        self.head = content.head
        self.path = Path(content.stored.path)
        self.states = content.stored.states
        self.is_whole = content.stored.is_whole
        self._file = file
        """Held open: another process may put a newer timeline in its place."""
        weakref.finalize(self, file.close)  # not `__del__`: in a cycle, the file's own would come first and warn
        self._lock = threading.Lock()
        self._piece = content.piece
        self._sections = list(pairwise(accumulate(content.sections, initial=begin)))
        self._branches = {line.leaf: self._counted(line) for line in content.head.branches}
        self._pieces: dict[int, list[Item]] = {}

    @classmethod
    def load(cls, place: Path) -> Kept | None:
        """Read the head of a timeline; None if there is none that can be used."""
        try:
            file = place.open("rb")
        except OSError:
            return None
        try:
            size = int.from_bytes(file.read(8), "little")
            content = _content(file.read(size)) if size < _MOST else None
        except (OSError, msgspec.MsgspecError):
            content = None
        if content is None or content.stored.version != VERSION:
            file.close()
            return None
        return cls(file, content, 8 + size)

    def is_current(self) -> bool:
        """Whether the files are as they were when it was made."""
        return all(state.still_holds() for state in self.states)

    # -- branches

    def _counted(self, line: Line) -> _Branch:
        counts = (self.head.chapters[place].count for place in line.chapters)
        return _Branch(line, list(accumulate(counts, initial=0)))

    def _branch(self, leaf: str | None) -> _Branch:
        if leaf is None:
            return self._branches[self.head.branches[0].leaf]
        if leaf not in self._branches:
            raise NotFound(f"{self.path}: no branch ends in {leaf}")
        return self._branches[leaf]

    def branch(self, leaf: str | None = None) -> Line:
        """A branch by its leaf; without one, the current branch."""
        return self._branch(leaf).line

    def count(self, leaf: str | None = None) -> int:
        """How many items a branch has."""
        return self._branch(leaf).starts[-1]

    # -- items

    def items(self, leaf: str | None, first: int, count: int) -> list[Item]:
        """Items of a branch by their positions in it."""
        line, starts = self._branch(leaf)
        found: list[Item] = []
        chapter = bisect_right(starts, first) - 1
        while chapter < len(line.chapters) and len(found) < count:
            skip = max(first - starts[chapter], 0)
            own = self.head.chapters[line.chapters[chapter]]
            found += self._all(own.first + skip, min(own.count - skip, count - len(found)))
            chapter += 1
        return found

    def _all(self, first: int, count: int) -> list[Item]:
        """Items by their numbers among those of all branches."""
        found: list[Item] = []
        for number in range(first // self._piece, (first + count - 1) // self._piece + 1 if count > 0 else 0):
            start = number * self._piece
            found += self._read_piece(number)[max(first - start, 0) : first + count - start]
        return found

    def _read_piece(self, number: int) -> list[Item]:
        if number not in self._pieces:
            if len(self._pieces) > 16:
                self._pieces = {}
            self._pieces[number] = _items(self._section(number))
        return self._pieces[number]

    def _section(self, number: int) -> bytes:
        begin, end = self._sections[number]
        with self._lock:
            self._file.seek(begin)
            return self._file.read(end - begin)

    # -- finding

    def position(self, leaf: str | None, key: str) -> int | None:
        """Where an item stands in a branch, by its key, or by the uuid or place of any of its entries."""
        if key.startswith("@"):
            return self.position_at(leaf, int(key[1:])) if key[1:].isdecimal() else None
        number = self._number_of(key)
        if number is None and (offset := self._offset_of(key)) is not None:
            return self.position_at(leaf, offset)
        return None if number is None else self._in_branch(leaf, number)

    def position_at(self, leaf: str | None, offset: int) -> int | None:
        """Where the item stands in a branch that a line of the file belongs to."""
        places, owners = self._lines
        at = bisect_right(places, offset) - 1
        return self._in_branch(leaf, owners[at]) if at >= 0 else None

    def _in_branch(self, leaf: str | None, number: int) -> int | None:
        line, starts = self._branch(leaf)
        chapter = bisect_right(self._firsts, number) - 1
        at = bisect_right(line.chapters, chapter) - 1
        if at < 0 or line.chapters[at] != chapter:
            return None
        return starts[at] + number - self._firsts[chapter]

    @cached_property
    def _firsts(self) -> list[int]:
        return [chapter.first for chapter in self.head.chapters]

    @cached_property
    def _lines(self) -> tuple[array[int], array[int]]:
        places, owners = array("Q"), array("I")
        places.frombytes(self._section(-2))
        owners.frombytes(self._section(-1))
        return places, owners

    def _number_of(self, key: str) -> int | None:
        wanted = key.encode("utf-8", "surrogatepass")
        for number in range(len(self._sections) - 3):
            if number in self._pieces or wanted in self._section(number):
                for at, item in enumerate(self._read_piece(number)):
                    if item.key == key:
                        return number * self._piece + at
        return None

    def _offset_of(self, uuid: str) -> int | None:
        """Where the line of an entry begins that is no item's first."""
        wanted = f'"uuid":"{uuid}"'.encode("utf-8", "surrogatepass")
        offset = 0
        with self.path.open("rb") as file:
            for line in file:
                if wanted in line:
                    return offset
                offset += len(line)
        return None

    # -- contents

    def excerpt(self, items: list[Item]) -> Excerpt:
        """The lines of some items, read from the file."""
        source = FileSource(self.path)
        try:
            return Excerpt.read(source, items)
        finally:
            source.close()

    def steps(self) -> list[Step]:
        """How full the window was at each message."""
        return _steps(self._section(-3))
