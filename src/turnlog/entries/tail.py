"""Read what was added to a file since the last time, and notice when it is no longer the same file.

A `Checkpoint` remembers how far a file was read and what stood there. Only whole lines are handed out: a line
that is still being written waits for its newline. Reading starts again from the beginning, with a reason and
the next generation, when the bytes that were handed out are no longer the beginning of the file:

    truncated   the file is shorter than what was read
    replaced    another file has the name now, or the file begins differently
    rewritten   the last bytes that were read are others now

A change in the middle that leaves both ends as they were is not noticed.
"""

from __future__ import annotations

import json
import os
import time
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.window import find_line_end, open_regular, read_at

_HEAD = 4096
_TAIL = 256
_SETTLED_NS = 2_000_000_000
"""A file that changed within the last two seconds may change again under the same timestamp."""


class Checkpoint(NamedTuple):
    """How far a file has been read; the file's name is the business of whoever keeps it."""

    offset: int = 0
    """Bytes handed out in this generation; the next line starts here."""
    inode: int = 0
    """0 where files have no such number."""
    size: int = 0
    """How far the file was looked at; beyond `offset` there was no whole line up to here."""
    mtime_ns: int = 0
    """When the file was last changed; 0 if that was too recent to rely on."""
    head_hash: str = ""
    """Of the first 4096 bytes, or of all up to `offset`."""
    tail_hash: str = ""
    """Of the 256 bytes before `offset`."""
    generation: int = 0
    """How often reading had to start again."""

    def to_json(self) -> str:
        """Write the checkpoint as JSON."""
        return json.dumps(self._asdict(), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> Checkpoint:
        """Read what `to_json` wrote; `ValueError` for anything else."""
        values = json.loads(text)
        if not isinstance(values, dict) or values.keys() != set(cls._fields):
            raise ValueError("not a checkpoint")
        for name, default in cls._field_defaults.items():
            value = values[name]
            if type(value) is not type(default) or (isinstance(value, int) and value < 0):
                raise ValueError(f"not a checkpoint: {name} is {value!r}")
        return cls(**values)


class Tail(NamedTuple):
    """What one reading brought."""

    data: bytes
    """Whole lines, newline included; empty if there is nothing new."""
    start: int
    """Where `data` stands in the file."""
    checkpoint: Checkpoint
    """To be handed in the next time."""
    reset: str | None
    """Why reading started again, "missing" if there is no file, else None."""


def read_tail(path: str | Path, checkpoint: Checkpoint | None = None, limit: int | None = None) -> Tail:
    """Give the whole lines that were added since `checkpoint`.

    With a `limit` at most that many bytes are given, or one longer line: call again until `data` is empty.
    """
    checkpoint = checkpoint or Checkpoint()
    try:
        if _unchanged(Path(path).stat(), checkpoint):
            return Tail(b"", checkpoint.offset, checkpoint, None)
        fd, status = open_regular(path)
    except (FileNotFoundError, NotADirectoryError):
        return Tail(b"", checkpoint.offset, checkpoint, "missing")
    try:
        return _read(fd, status, checkpoint, limit)
    finally:
        os.close(fd)


def mark(fd: int, offset: int) -> Checkpoint:
    """Give the checkpoint of an open file that was read up to `offset`."""
    status = os.fstat(fd)
    head = read_at(fd, 0, min(offset, _HEAD))
    before = read_at(fd, max(offset - _TAIL, 0), min(offset, _TAIL))
    return Checkpoint(offset, _inode(status), offset, 0, _hash(head), _hash(before))


def stale(path: str | Path, checkpoint: Checkpoint) -> str | None:
    """Say why a file must be read from the beginning again, "missing" if it is gone, None if it only grew."""
    try:
        fd, status = open_regular(path)
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    try:
        head = read_at(fd, 0, min(checkpoint.offset, _HEAD))
        before = read_at(fd, max(checkpoint.offset - _TAIL, 0), min(checkpoint.offset, _TAIL))
        other = _inode(status) != checkpoint.inode  # even if nothing was read of it yet: it is open elsewhere
        return "replaced" if other else _reset(status, checkpoint, head, before)
    finally:
        os.close(fd)


def _unchanged(status: os.stat_result, checkpoint: Checkpoint) -> bool:
    same = status.st_size == checkpoint.size and _inode(status) == checkpoint.inode
    return same and 0 < checkpoint.mtime_ns == status.st_mtime_ns


def _read(fd: int, status: os.stat_result, checkpoint: Checkpoint, limit: int | None) -> Tail:
    head = read_at(fd, 0, min(checkpoint.offset, _HEAD))
    before = read_at(fd, max(checkpoint.offset - _TAIL, 0), min(checkpoint.offset, _TAIL))
    reset = _reset(status, checkpoint, head, before)
    if reset:
        checkpoint = Checkpoint(generation=checkpoint.generation + 1)
        head = before = b""
    start = checkpoint.offset
    data, looked_at = _lines(fd, start, max(status.st_size, start), limit)
    # Hashed is what was handed out, not what stands in the file by now.
    return Tail(
        data,
        start,
        Checkpoint(
            offset=start + len(data),
            inode=_inode(status),
            size=looked_at,
            mtime_ns=_settled(status),
            head_hash=_hash(head + data[: _HEAD - len(head)]),
            tail_hash=_hash((before + data[-_TAIL:])[-_TAIL:]),
            generation=checkpoint.generation,
        ),
        reset,
    )


def _reset(status: os.stat_result, checkpoint: Checkpoint, head: bytes, before: bytes) -> str | None:
    if checkpoint.offset == 0:
        return None
    if _inode(status) != checkpoint.inode:
        return "replaced"
    if status.st_size < checkpoint.offset:
        return "truncated"
    if _hash(head) != checkpoint.head_hash:
        return "replaced"
    return None if _hash(before) == checkpoint.tail_hash else "rewritten"


def _lines(fd: int, start: int, end: int, limit: int | None) -> tuple[bytes, int]:
    """Read whole lines from `start` to at most `end`; say up to where no further whole line stands."""
    size = end - start if limit is None else min(max(limit, 1), end - start)
    block = read_at(fd, start, size)
    kept = block.rfind(b"\n") + 1
    if len(block) < size or start + size == end:
        return block[:kept], start + len(block)
    return (block[:kept], start + kept) if kept else _long_line(fd, start, end, size)


def _long_line(fd: int, start: int, end: int, size: int) -> tuple[bytes, int]:
    """Read a line that is longer than the limit, once its end is known: so it is in memory once."""
    behind = min(find_line_end(fd, start + size), end)
    line = read_at(fd, start, behind - start)
    return (line, behind) if line.endswith(b"\n") else (b"", behind)


def _inode(status: os.stat_result) -> int:
    return 0 if os.name == "nt" else status.st_ino


def _settled(status: os.stat_result) -> int:
    return status.st_mtime_ns if time.time_ns() - status.st_mtime_ns > _SETTLED_NS else 0


def _hash(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
