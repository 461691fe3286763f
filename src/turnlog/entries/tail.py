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

from turnlog.entries.file_ends import find_line_end, open_regular_file, read_at

_HEAD_BYTES = 4096
_TAIL_BYTES = 256
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
        if _is_unchanged(Path(path).stat(), checkpoint):
            return Tail(b"", checkpoint.offset, checkpoint, None)
        fd, status = open_regular_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return Tail(b"", checkpoint.offset, checkpoint, "missing")
    try:
        return _read_new_lines(fd, status, checkpoint, limit)
    finally:
        os.close(fd)


def make_checkpoint(fd: int, offset: int) -> Checkpoint:
    """Give the checkpoint of an open file that was read up to `offset`."""
    status = os.fstat(fd)
    head = read_at(fd, 0, min(offset, _HEAD_BYTES))
    before = read_at(fd, max(offset - _TAIL_BYTES, 0), min(offset, _TAIL_BYTES))
    return Checkpoint(offset, _get_inode(status), offset, 0, _hash_bytes(head), _hash_bytes(before))


def find_stale_reason(path: str | Path, checkpoint: Checkpoint) -> str | None:
    """Say why a file must be read from the beginning again, "missing" if it is gone, None if it only grew."""
    try:
        fd, status = open_regular_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    try:
        head = read_at(fd, 0, min(checkpoint.offset, _HEAD_BYTES))
        before = read_at(fd, max(checkpoint.offset - _TAIL_BYTES, 0), min(checkpoint.offset, _TAIL_BYTES))
        other = _get_inode(status) != checkpoint.inode  # even if nothing was read of it yet: it is open elsewhere
        return "replaced" if other else _find_reset_reason(status, checkpoint, head, before)
    finally:
        os.close(fd)


def _is_unchanged(status: os.stat_result, checkpoint: Checkpoint) -> bool:
    same = status.st_size == checkpoint.size and _get_inode(status) == checkpoint.inode
    return same and 0 < checkpoint.mtime_ns == status.st_mtime_ns


def _read_new_lines(fd: int, status: os.stat_result, checkpoint: Checkpoint, limit: int | None) -> Tail:
    head = read_at(fd, 0, min(checkpoint.offset, _HEAD_BYTES))
    before = read_at(fd, max(checkpoint.offset - _TAIL_BYTES, 0), min(checkpoint.offset, _TAIL_BYTES))
    reset = _find_reset_reason(status, checkpoint, head, before)
    if reset:
        checkpoint = Checkpoint(generation=checkpoint.generation + 1)
        head = before = b""
    start = checkpoint.offset
    data, looked_at = _read_whole_lines(fd, start, max(status.st_size, start), limit)
    # Hashed is what was handed out, not what stands in the file by now.
    return Tail(
        data,
        start,
        Checkpoint(
            offset=start + len(data),
            inode=_get_inode(status),
            size=looked_at,
            mtime_ns=_get_settled_mtime(status),
            head_hash=_hash_bytes(head + data[: _HEAD_BYTES - len(head)]),
            tail_hash=_hash_bytes((before + data[-_TAIL_BYTES:])[-_TAIL_BYTES:]),
            generation=checkpoint.generation,
        ),
        reset,
    )


def _find_reset_reason(status: os.stat_result, checkpoint: Checkpoint, head: bytes, before: bytes) -> str | None:
    if checkpoint.offset == 0:
        return None
    if _get_inode(status) != checkpoint.inode:
        return "replaced"
    if status.st_size < checkpoint.offset:
        return "truncated"
    if _hash_bytes(head) != checkpoint.head_hash:
        return "replaced"
    return None if _hash_bytes(before) == checkpoint.tail_hash else "rewritten"


def _read_whole_lines(fd: int, start: int, end: int, limit: int | None) -> tuple[bytes, int]:
    """Read whole lines from `start` to at most `end`; say up to where no further whole line stands."""
    size = end - start if limit is None else min(max(limit, 1), end - start)
    block = read_at(fd, start, size)
    kept = block.rfind(b"\n") + 1
    if len(block) < size or start + size == end:
        return block[:kept], start + len(block)
    return (block[:kept], start + kept) if kept else _read_long_line(fd, start, end, size)


def _read_long_line(fd: int, start: int, end: int, size: int) -> tuple[bytes, int]:
    """Read a line that is longer than the limit, once its end is known: so it is in memory once."""
    behind = min(find_line_end(fd, start + size), end)
    line = read_at(fd, start, behind - start)
    return (line, behind) if line.endswith(b"\n") else (b"", behind)


def _get_inode(status: os.stat_result) -> int:
    return 0 if os.name == "nt" else status.st_ino


def _get_settled_mtime(status: os.stat_result) -> int:
    return status.st_mtime_ns if time.time_ns() - status.st_mtime_ns > _SETTLED_NS else 0


def _hash_bytes(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
