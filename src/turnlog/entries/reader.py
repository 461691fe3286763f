"""Reads a session file: every byte of it becomes part of an entry or a scrap.

`scan_lines` works on any stream of lines and needs only enough memory for the longest line. `Transcript` keeps the
entries of one file, can read what is appended later, and returns the bytes or the whole object of any entry.
"""

from __future__ import annotations

import gc
import io
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from turnlog.entries.entry import MISSING_PARENT, NO_PARENT, Body, Entry, EntryOrScrap, LineUsage, Scrap
from turnlog.entries.file_ends import read_lines
from turnlog.entries.line_decoder import (
    DECODE_ERRORS,
    SPEAKER_TYPES,
    complete_entry,
    decode_body,
    decode_entry,
    may_be_terse,
    salvage_line,
)
from turnlog.entries.old_names import OldName
from turnlog.entries.replays import is_replay
from turnlog.entries.spread_values import join_spread_value
from turnlog.entries.tail import Checkpoint, find_stale_reason, make_checkpoint
from turnlog.errors import Changed, Unreadable
from turnlog.work_progress import report_chunks

READ_BUFFER_BYTES = 1 << 20


class RawItem(NamedTuple):
    """An entry or scrap with its bytes."""

    item: EntryOrScrap
    raw: bytes


class TranscriptSource(Protocol):
    """A place from which the bytes of a transcript can be read again."""

    def read(self, offset: int, size: int) -> bytes:
        """Return `size` bytes starting at `offset`."""
        ...  # pragma: no cover

    def read_lines(self, offset: int) -> Iterator[bytes]:
        """Yield the lines starting at `offset`, each with its line end."""
        ...  # pragma: no cover

    def close(self) -> None:
        """Release the file."""
        ...  # pragma: no cover

    def make_checkpoint(self, offset: int) -> Checkpoint | None:
        """Record the bytes before `offset` so that changes to them can be detected later."""
        ...  # pragma: no cover


class FileSource:
    """A file that is kept open so that renaming a different file over it does not change what is read."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = io.BufferedReader(io.FileIO(path), READ_BUFFER_BYTES)
        except OSError as error:
            folder = os.path.isdir(path)  # noqa: PTH112 - Path.is_dir may raise
            reason = "a folder, not a session file" if folder else error.strerror or error
            raise Unreadable(f"{path}: {reason}") from None
        self.path = path
        self._lock = threading.Lock()

    def read(self, offset: int, size: int) -> bytes:
        """Return the bytes; raise `Changed` if the file is now shorter."""
        with self._lock:
            data = _read_at(self._file.raw, offset, size)  # not the buffer, which would read a megabyte for every entry
            while len(data) < size and (more := _read_at(self._file.raw, offset + len(data), size - len(data))):
                data += more
        if len(data) != size:
            raise Changed(f"{self.path}: truncated while being read; open the file again")
        return data

    def read_lines(self, offset: int) -> Iterator[bytes]:
        """Yield the lines; raise `Changed` if the file is now shorter than `offset`."""
        with self._lock:
            try:
                size = self._file.seek(0, io.SEEK_END)
                if size < offset:
                    raise Changed(f"{self.path}: truncated while being read; open the file again")
                self._file.seek(offset)
                yield from report_chunks("reading", read_lines(self._file), size - offset)
            except OSError as error:
                raise Unreadable(f"{self.path}: {error.strerror or error}") from None

    def close(self) -> None:
        self._file.close()

    def make_checkpoint(self, offset: int) -> Checkpoint | None:
        with self._lock:
            return make_checkpoint(self._file.fileno(), offset)


def _read_at(file: io.RawIOBase, offset: int, size: int) -> bytes:
    """Read at an offset, with one call to the system where it offers one."""
    if sys.platform == "win32":  # pragma: no cover
        file.seek(offset)
        return file.read(size) or b""
    return os.pread(file.fileno(), size, offset)


class BytesSource:
    """A transcript in memory."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def read(self, offset: int, size: int) -> bytes:
        return self.data[offset : offset + size]

    def read_lines(self, offset: int) -> Iterator[bytes]:
        yield from io.BytesIO(self.data[offset:])

    def close(self) -> None:
        """Do nothing: there is no file."""

    def make_checkpoint(self, offset: int) -> Checkpoint | None:
        """Return None: data in memory does not change."""
        return None


def scan_lines(lines: Iterable[bytes], offset: int = 0) -> Iterator[RawItem]:
    """Yield the entries and scraps in these lines in order; together, they cover every byte."""
    rest = iter(lines)
    for line in rest:
        try:
            entry = decode_entry(line)
        except DECODE_ERRORS:
            for value in join_spread_value(line, rest):
                for item in salvage_line(value, offset):
                    yield RawItem(item, value[item.offset - offset : item.end - offset])
                offset += len(value)
        else:
            entry.offset, entry.size = offset, len(line)
            if may_be_terse(entry.type, entry.message, entry.timestamp):
                entry = complete_entry(entry, line)
            yield RawItem(entry, line)
            offset += len(line)


class Transcript:
    """The entries and scraps of one file."""

    def __init__(self, source: TranscriptSource, path: Path | None = None) -> None:
        self.source = source
        self.path = path
        self.entries: list[Entry] = []
        self.scraps: list[Scrap] = []
        self.by_uuid: dict[str, int] = {}
        """The index of the first entry with each uuid."""
        self.repeated: dict[str, list[int]] = {}
        """The indexes of further entries with the same uuid."""
        self.has_sidechains = False
        """Whether entries of a sub-agent have been read."""
        self.complete = 0
        """The offset up to which the file has been read in whole lines."""
        self._pool: dict[str | None, str | None] = {}
        self._forward: list[int] = []
        """Indexes of entries whose parent does not come before them."""
        self._mark: Checkpoint | None = None
        self._replays: dict[int, bool] = {}
        """For the offset of each further entry with a known uuid, whether it is a replay."""
        self.grow()

    @classmethod
    def open(cls, path: Path) -> Transcript:
        """Read a file and keep it open."""
        source = FileSource(path)
        try:
            return cls(source, path)
        except BaseException:
            source.close()
            raise

    @classmethod
    def from_bytes(cls, data: bytes) -> Transcript:
        """Read bytes in memory."""
        return cls(BytesSource(data))

    @property
    def items(self) -> list[EntryOrScrap]:
        """All entries and scraps in file order."""
        return sorted([*self.entries, *self.scraps], key=lambda item: item.offset)

    @property
    def is_in_order(self) -> bool:
        """Whether every parent comes before its children, as in nearly every file."""
        return all(self.entries[index].parent < index for index in self._forward)

    def list_replays(self) -> frozenset[int]:
        """List the indexes of the entries that repeat an earlier entry: the client wrote history again."""
        return frozenset(index for places in self.repeated.values() for index in places if self._is_replay(index))

    def _is_replay(self, index: int) -> bool:
        entry = self.entries[index]
        first = self.entries[self.by_uuid[entry.uuid or ""]]
        if (entry.type, entry.parent_uuid, entry.timestamp) != (first.type, first.parent_uuid, first.timestamp):
            return False
        if entry.end > self.complete:  # the unfinished last line may still change
            return is_replay(self.read_raw(entry), self.read_raw(first))
        if (known := self._replays.get(entry.offset)) is None:
            known = self._replays[entry.offset] = is_replay(self.read_raw(entry), self.read_raw(first))
        return known

    def read_raw(self, item: EntryOrScrap) -> bytes:
        return self.source.read(item.offset, item.size)

    def read_head(self, item: EntryOrScrap, size: int) -> bytes:
        """Read at most `size` bytes from the start of an entry."""
        return self.source.read(item.offset, min(size, item.size))

    def read_body(self, entry: Entry) -> Body:
        """Read and decode the whole object of an entry."""
        return decode_body(self.read_raw(entry))

    def close(self) -> None:
        """Release the file; the entries are kept, but their bodies can no longer be read."""
        self.source.close()

    def find_stale_reason(self) -> str | None:
        """Return why the file must be read from the start again (see `tail`), or None if it has only grown."""
        return find_stale_reason(self.path, self._mark) if self.path and self._mark else None

    def grow(self) -> bool:
        """Read what has been appended since the previous read; return whether there was anything new."""
        before = self._forget_unfinished()
        with pause_garbage_collector():
            self._read_on()
        self._mark = self.source.make_checkpoint(self.complete)
        return self._find_end() != before

    def _find_end(self) -> int:
        last: list[EntryOrScrap] = [*self.entries[-1:], *self.scraps[-1:]]
        return max((item.end for item in last), default=0)

    def _forget_unfinished(self) -> int:
        """Drop what was read from an unfinished last line; return the previous end of the file."""
        before = self._find_end()
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
        self._forward = [index for index in self._forward if index < len(self.entries)]
        return before

    def _read_on(self) -> None:
        """Read from the last complete line to the end of the file.

        Half of the time spent reading a session is spent here, hence the single loop over local names. Strings that
        nearly every entry repeats are stored only once to save memory.
        """
        decode, entries, place_of, share = decode_entry, self.entries, self.by_uuid, self._pool.setdefault
        append = entries.append
        offset, index, line = self.complete, len(entries), b"\n"
        before, before_index, last_id = "", NO_PARENT, ""
        last_usage: LineUsage | None = None
        session_id = cwd = version = git_branch = None
        lines = self.source.read_lines(offset)
        for line in lines:
            try:
                entry = decode(line)
            except DECODE_ERRORS:
                for value in join_spread_value(line, lines):
                    for item in salvage_line(value, offset):
                        self._add_item(item)
                    offset, line = offset + len(value), value
                index = len(entries)
                continue
            entry.offset, entry.size, entry.index = offset, len(line), index
            name, message = entry.type, entry.message
            # The condition of `may_be_terse`, because a call for each line would take longer.
            if (message is None) == (name in SPEAKER_TYPES) or (message is not None and entry.timestamp is None):
                entry = complete_entry(entry, line)
                name, message = entry.type, entry.message
            offset += len(line)
            entry.type = share(name, name)
            if parent := entry.parent_uuid:
                if parent == before:
                    entry.parent_uuid, entry.parent = before, before_index
                elif (place := place_of.get(parent)) is not None:
                    entry.parent_uuid, entry.parent = entries[place].uuid, place
                else:
                    self._forward.append(index)
            if entry.is_sidechain:
                self.has_sidechains = True
            if (uuid := entry.uuid) is not None:
                if entry.session_id == session_id:
                    entry.session_id = session_id
                else:
                    session_id = entry.session_id
                if entry.cwd == cwd:
                    entry.cwd = cwd
                else:
                    cwd = entry.cwd
                if entry.version == version:
                    entry.version = version
                else:
                    version = entry.version
                if entry.git_branch == git_branch:
                    entry.git_branch = git_branch
                else:
                    git_branch = entry.git_branch
                if place_of.setdefault(uuid, index) == index:
                    before, before_index = uuid, index
                else:
                    self.repeated.setdefault(uuid, []).append(index)
            if message is None:
                if (inner := entry.data or entry.attachment) is not None:
                    entry.kind = share(inner.type, inner.type)
                    entry.data = entry.attachment = None
            else:
                if (model := message.model) is not None:
                    message.model = share(model, model)
                if (identity := message.id) is not None:  # the lines of one message repeat its id and usage
                    if identity != last_id:
                        last_id = identity
                    elif message.usage == last_usage:
                        message.id, message.usage = last_id, last_usage
                    else:
                        message.id = last_id
                    last_usage = message.usage
            append(entry)
            index += 1
        self.complete = offset if line.endswith(b"\n") else offset - len(line)
        for index in self._forward:
            entries[index].parent = place_of.get(entries[index].parent_uuid or "", MISSING_PARENT)

    def _add_item(self, item: EntryOrScrap) -> None:
        """Add an item that was salvaged from a broken line."""
        if isinstance(item, Scrap):
            self.scraps.append(item)
            return
        item.index, item.parent = len(self.entries), NO_PARENT
        self.has_sidechains = self.has_sidechains or bool(item.is_sidechain)
        self.entries.append(item)
        if item.parent_uuid:
            self._forward.append(item.index)
        if item.uuid is not None and self.by_uuid.setdefault(item.uuid, item.index) != item.index:
            self.repeated.setdefault(item.uuid, []).append(item.index)
        if item.message is None and (kind := item.data or item.attachment) is not None:
            item.kind, item.data, item.attachment = kind.type, None, None

    body = OldName("read_body")
    in_order = OldName("is_in_order")
    of = OldName("from_bytes")
    raw = OldName("read_raw")
    stale = OldName("find_stale_reason")


@contextmanager
def pause_garbage_collector() -> Iterator[None]:
    """Pause cyclic garbage collection: entries contain no cycles, and searching for them doubles the reading time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if gc.get_freeze_count() == 0:  # makes all objects old; otherwise the next allocation would scan them all
                gc.freeze()
                gc.unfreeze()
            gc.enable()
