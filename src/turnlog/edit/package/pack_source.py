"""Reads a file to be packed while a client may be writing to it.

The package contains the file as it was at one moment, up to the end of a line if the file is still being written: a
checkpoint is taken first and must still be valid after the last byte has been read. A file that is rewritten in the
meantime is refused.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.open_signs import RECENT_WRITE_SECONDS
from turnlog.entries.file_ends import open_regular_file, read_at
from turnlog.entries.layout import is_session_id
from turnlog.entries.tail import Checkpoint, find_stale_reason, make_checkpoint
from turnlog.errors import Changed, Unreadable

_PIECE_BYTES = 1 << 20
_TAIL_BYTES = 64 << 10


class PackSource(NamedTuple):
    """A file as it was at one moment."""

    path: Path
    size: int
    """The number of bytes that are packed."""
    left_out: int
    """The number of bytes after the packed ones, from a line that was still being written."""
    mode: int
    mtime_ns: int
    checkpoint: Checkpoint

    def read_pieces(self) -> Iterator[bytes]:
        """Yield the bytes; raise `Changed` if the file no longer starts with them."""
        position = 0
        try:
            fd, _ = open_regular_file(self.path)
            try:
                while position < self.size and (
                    piece := read_at(fd, position, min(_PIECE_BYTES, self.size - position))
                ):
                    position += len(piece)
                    yield piece
            finally:
                os.close(fd)
        except FileNotFoundError:
            position = -1
        except OSError as error:
            raise Unreadable(f"{self.path}: {error.strerror}; it can't be packed") from error
        if position < self.size:
            raise Changed(f"{self.path}: rewritten during packing; try again")
        self.check_unchanged()

    def check_unchanged(self) -> None:
        """Check that a transcript has only grown, and that any other file has not changed at all."""
        if _is_transcript_file(self.path):
            is_unchanged = find_stale_reason(self.path, self.checkpoint) is None
        else:
            now = self.path.stat()
            is_unchanged = (now.st_size, now.st_mtime_ns) == (self.size, self.mtime_ns)
        if not is_unchanged:
            raise Changed(f"{self.path}: rewritten during packing; try again")


def inspect_source(path: Path, now: float | None = None) -> PackSource:
    """Examine a file that is to be packed."""
    try:
        fd, status = open_regular_file(path)
        try:
            size = status.st_size
            if _is_transcript_file(path) and abs((now or time.time()) - status.st_mtime) < RECENT_WRITE_SECONDS:
                size = _find_whole_lines_end(fd, size)
            checkpoint = make_checkpoint(fd, size)
        finally:
            os.close(fd)
    except FileNotFoundError:
        raise Changed(f"{path}: the file no longer exists; try again") from None
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}; it can't be packed") from error
    return PackSource(path, size, status.st_size - size, status.st_mode & 0o7777, status.st_mtime_ns, checkpoint)


def _is_transcript_file(path: Path) -> bool:
    """Return whether the client writes to a file by appending lines."""
    own = is_session_id(path.stem) or path.stem.startswith("agent-") or path.stem == "journal"
    return path.suffix == ".jsonl" and own


def _find_whole_lines_end(fd: int, size: int) -> int:
    """Return where the last complete line ends."""
    while size:
        start = max(size - _TAIL_BYTES, 0)
        end = read_at(fd, start, size - start).rfind(b"\n") + 1
        if end:
            return start + end
        size = start
    return 0


def split_byte_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Split pieces into lines with their line endings, if any. Only one line is in memory at a time."""
    rest: list[bytes] = []
    for piece in pieces:
        lines = io.BytesIO(piece).readlines()
        if rest and lines:
            rest.append(lines.pop(0))
            if rest[-1].endswith(b"\n"):
                yield b"".join(rest)
                rest.clear()
        if lines and not lines[-1].endswith(b"\n"):
            rest.append(lines.pop())
        yield from lines
    if rest:
        yield b"".join(rest)
