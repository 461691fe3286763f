"""Reading a session file: every byte of it becomes part of an entry or of a scrap.

`scan` streams over anything that gives lines and needs memory for the longest line only. `Transcript` keeps the entries
of one file, can be grown by what was appended meanwhile, and gives back the bytes or the whole object of any of them.
"""

from __future__ import annotations

import gc
import io
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from ..errors import Changed, Unreadable
from .decode import FAILURES, body, quick, salvage
from .entry import Body, Entry, Item, Scrap
from .tail import Checkpoint, mark, stale

BUFFER = 1 << 20


class Piece(NamedTuple):
    """An entry or scrap with its bytes."""

    item: Item
    raw: bytes


class Source(Protocol):
    """Where the bytes of a transcript can be had again."""

    def read(self, offset: int, size: int) -> bytes:
        """The bytes at a place."""
        ...  # pragma: no cover

    def lines(self, offset: int) -> Iterator[bytes]:
        """The lines from a place on, each with its line end."""
        ...  # pragma: no cover

    def close(self) -> None:
        """Let go of the file."""
        ...  # pragma: no cover

    def mark(self, offset: int) -> Checkpoint | None:
        """What stands before a place, to tell later whether it still does."""
        ...  # pragma: no cover


class FileSource:
    """A file that stays open, so that a file renamed over it does not change what is read."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = io.BufferedReader(io.FileIO(path), BUFFER)
        except OSError as error:
            folder = os.path.isdir(path)  # noqa: PTH112 - Path.is_dir may raise
            reason = "is a folder, not a session file" if folder else error.strerror or error
            raise Unreadable(f"{path}: {reason}") from None
        self.path = path
        self._lock = threading.Lock()

    def read(self, offset: int, size: int) -> bytes:
        """The bytes at a place."""
        with self._lock:
            raw = self._file.raw  # past the buffer, which would fill a megabyte for every entry
            raw.seek(offset)
            found = b""
            while len(found) < size and (more := raw.read(size - len(found))):
                found += more
        if len(found) != size:
            raise Changed(f"{self.path}: was cut while being read; open it again")
        return found

    def lines(self, offset: int) -> Iterator[bytes]:
        """The lines from a place on, each with its line end."""
        with self._lock:
            try:
                if self._file.seek(0, io.SEEK_END) < offset:
                    raise Changed(f"{self.path}: was cut while being read; open it again")
                self._file.seek(offset)
                yield from self._file
            except OSError as error:
                raise Unreadable(f"{self.path}: {error.strerror or error}") from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def mark(self, offset: int) -> Checkpoint | None:
        """What stands before a place, to tell later whether it still does."""
        with self._lock:
            return mark(self._file.fileno(), offset)


class BytesSource:
    """A transcript in memory."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def read(self, offset: int, size: int) -> bytes:
        """The bytes at a place."""
        return self.data[offset : offset + size]

    def lines(self, offset: int) -> Iterator[bytes]:
        """The lines from a place on, each with its line end."""
        yield from io.BytesIO(self.data[offset:])

    def close(self) -> None:
        """Nothing to close."""

    def mark(self, offset: int) -> Checkpoint | None:  # noqa: ARG002
        """Nothing: what is in memory stays as it is."""
        return None


def scan(lines: Iterable[bytes], offset: int = 0) -> Iterator[Piece]:
    """The pieces that tile these lines, in order."""
    for line in lines:
        try:
            entry = quick(line)
        except FAILURES:
            for item in salvage(line, offset):
                yield Piece(item, line[item.offset - offset : item.end - offset])
        else:
            entry.offset, entry.size, entry.flaw, entry.kind = offset, len(line), None, None
            yield Piece(entry, line)
        offset += len(line)


class Transcript:
    """The entries and scraps of one file."""

    def __init__(self, source: Source, path: Path | None = None) -> None:
        self.source = source
        self.path = path
        self.entries: list[Entry] = []
        self.scraps: list[Scrap] = []
        self.by_uuid: dict[str, int] = {}
        """Where a uuid stands first."""
        self.repeated: dict[str, list[int]] = {}
        """Further places of uuids that are written more than once."""
        self.complete = 0
        """How far the file was read in whole lines."""
        self._pool: dict[str, str] = {}
        self._mark: Checkpoint | None = None
        self.grow()

    @classmethod
    def open(cls, path: Path) -> Transcript:
        """Read a file."""
        return cls(FileSource(path), path)

    @classmethod
    def of(cls, data: bytes) -> Transcript:
        """Read bytes in memory."""
        return cls(BytesSource(data))

    @property
    def items(self) -> list[Item]:
        """All entries and scraps in the order of the file."""
        return sorted([*self.entries, *self.scraps], key=lambda item: item.offset)

    def raw(self, item: Item) -> bytes:
        """The bytes of an entry or scrap."""
        return self.source.read(item.offset, item.size)

    def body(self, entry: Entry) -> Body:
        """The whole object of an entry."""
        return body(self.raw(entry))

    def close(self) -> None:
        """Let go of the file; what was read stays, bodies can no longer be had."""
        self.source.close()

    def stale(self) -> str | None:
        """Why the file must be read from the beginning again (see `tail`); None if it only grew."""
        return stale(self.path, self._mark) if self.path and self._mark else None

    def grow(self) -> bool:
        """Read what was appended since; whether there was anything."""
        before = self._forget_unfinished()
        with collector_off():
            for item, raw in scan(self.source.lines(self.complete), self.complete):
                if isinstance(item, Entry):
                    self._add(item)
                else:
                    self.scraps.append(item)
                if raw.endswith(b"\n"):
                    self.complete = item.end
        self._mark = self.source.mark(self.complete)
        return self._end() != before

    def _end(self) -> int:
        last: list[Item] = [*self.entries[-1:], *self.scraps[-1:]]
        return max((item.end for item in last), default=0)

    def _forget_unfinished(self) -> int:
        """Take back what was read of an unfinished last line; the end of the file so far."""
        before = self._end()
        while self.scraps and self.scraps[-1].offset >= self.complete:
            self.scraps.pop()
        while self.entries and self.entries[-1].offset >= self.complete:
            uuid = self.entries.pop().uuid
            if uuid is None:
                continue
            if places := self.repeated.get(uuid):
                places.pop()
            else:
                del self.by_uuid[uuid]
        self.repeated = {uuid: places for uuid, places in self.repeated.items() if places}
        return before

    def _add(self, entry: Entry) -> None:
        entry.index = len(self.entries)
        self.entries.append(entry)
        self._share(entry)
        uuid, parent = entry.uuid, entry.parent_uuid
        if uuid is not None and self.by_uuid.setdefault(uuid, entry.index) != entry.index:
            self.repeated.setdefault(uuid, []).append(entry.index)
        if parent is not None and (place := self.by_uuid.get(parent)) is not None:
            entry.parent_uuid = self.entries[place].uuid

    def _share(self, entry: Entry) -> None:
        """Keep each repeated string once: most of a session's memory is the same few of them."""
        share = self._pool.setdefault
        if (text := entry.type) is not None:
            entry.type = share(text, text)
        if (text := entry.session_id) is not None:
            entry.session_id = share(text, text)
        if (text := entry.cwd) is not None:
            entry.cwd = share(text, text)
        if (text := entry.version) is not None:
            entry.version = share(text, text)
        if (text := entry.git_branch) is not None:
            entry.git_branch = share(text, text)
        if (text := entry.request_id) is not None:
            entry.request_id = share(text, text)
        kind = entry.attachment or entry.data
        if kind is not None and (text := kind.type) is not None:
            entry.kind = share(text, text)
            entry.attachment = entry.data = None
        if (message := entry.message) is not None:
            if (text := message.id) is not None:
                message.id = share(text, text)
            if (text := message.model) is not None:
                message.model = share(text, text)
            if (text := message.stop_reason) is not None:
                message.stop_reason = share(text, text)
            if isinstance(message.content, list):
                for block in message.content:
                    block.type = share(block.type, block.type)
                    if (text := block.name) is not None:
                        block.name = share(text, text)


@contextmanager
def collector_off() -> Iterator[None]:
    """Without cyclic garbage collection: entries hold no cycles, and looking for some doubles the time to read."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
