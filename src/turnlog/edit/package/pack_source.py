"""A file that is packed while its client may be writing to it.

What is packed is how the file begins at one moment, up to the end of a line if it is being written: a checkpoint is
taken first, and must still hold when the last byte was read. A file that is rewritten meanwhile is refused.
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
    """How many bytes of it are packed."""
    left_out: int
    """How many bytes behind them are a line that was being written."""
    mode: int
    mtime_ns: int
    checkpoint: Checkpoint

    def read_pieces(self) -> Iterator[bytes]:
        """The bytes; `Changed` if they are no longer how the file begins."""
        done = 0
        try:
            fd, _ = open_regular_file(self.path)
            try:
                while done < self.size and (piece := read_at(fd, done, min(_PIECE_BYTES, self.size - done))):
                    done += len(piece)
                    yield piece
            finally:
                os.close(fd)
        except FileNotFoundError:
            done = -1
        except OSError as error:
            raise Unreadable(f"{self.path}: {error.strerror}; it can't be packed") from error
        if done < self.size:
            raise Changed(f"{self.path}: was rewritten while it was packed; try again")
        self.check_unchanged()

    def check_unchanged(self) -> None:
        """See that the file only grew, as transcripts do; of others nothing may have changed."""
        if _is_transcript_file(self.path):
            holds = find_stale_reason(self.path, self.checkpoint) is None
        else:
            now = self.path.stat()
            holds = (now.st_size, now.st_mtime_ns) == (self.size, self.mtime_ns)
        if not holds:
            raise Changed(f"{self.path}: was rewritten while it was packed; try again")


def inspect_source(path: Path, now: float | None = None) -> PackSource:
    """Look at a file that is to be packed."""
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
        raise Changed(f"{path}: is gone; try again") from None
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}; it can't be packed") from error
    return PackSource(path, size, status.st_size - size, status.st_mode & 0o7777, status.st_mtime_ns, checkpoint)


def _is_transcript_file(path: Path) -> bool:
    """Whether the client writes a file by adding lines to it."""
    own = is_session_id(path.stem) or path.stem.startswith("agent-") or path.stem == "journal"
    return path.suffix == ".jsonl" and own


def _find_whole_lines_end(fd: int, size: int) -> int:
    """Where the last whole line ends."""
    while size:
        start = max(size - _TAIL_BYTES, 0)
        end = read_at(fd, start, size - start).rfind(b"\n") + 1
        if end:
            return start + end
        size = start
    return 0


def split_byte_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Cut pieces into lines with their line ends; the last may have none. Memory holds the longest line only."""
    rest: list[bytes] = []
    for piece in pieces:
        found = io.BytesIO(piece).readlines()
        if rest and found:
            rest.append(found.pop(0))
            if rest[-1].endswith(b"\n"):
                yield b"".join(rest)
                rest.clear()
        if found and not found[-1].endswith(b"\n"):
            rest.append(found.pop())
        yield from found
    if rest:
        yield b"".join(rest)
