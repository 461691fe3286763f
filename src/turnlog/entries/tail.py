"""Reads what has been added to a file since the previous read, and detects whether it is still the same file.

A `Checkpoint` records how far a file has been read and which bytes it contained. Only whole lines are returned: a line
that is still being written is held back until its newline arrives. Reading starts again from the beginning, with a
reason and the next generation number, if the file no longer starts with the bytes that were returned:

    truncated   the file is shorter than the part that was read
    replaced    a different file now has this name, or the file starts differently
    rewritten   the last bytes that were read have changed

A change in the middle that leaves both ends unchanged is not detected.
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
"""A file that changed within the last two seconds may change again without a new timestamp."""


class Checkpoint(NamedTuple):
    """How far a file has been read; the file's name is not stored."""

    offset: int = 0
    """The number of bytes returned in this generation; the next line starts here."""
    inode: int = 0
    """0 on systems without inode numbers."""
    size: int = 0
    """How far the file has been examined; no whole line was found between `offset` and this position."""
    mtime_ns: int = 0
    """When the file last changed; 0 if that was too recent to rely on."""
    head_hash: str = ""
    """The hash of the first 4096 bytes, or of all bytes up to `offset` if those are fewer."""
    tail_hash: str = ""
    """The hash of the 256 bytes before `offset`."""
    generation: int = 0
    """How many times reading had to start again."""

    def to_json(self) -> str:
        return json.dumps(self._asdict(), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> Checkpoint:
        """Parse the output of `to_json`; raise `ValueError` for anything else."""
        values = json.loads(text)
        if not isinstance(values, dict) or values.keys() != set(cls._fields):
            raise ValueError("not a checkpoint")
        for name, default in cls._field_defaults.items():
            value = values[name]
            if type(value) is not type(default) or (isinstance(value, int) and value < 0):
                raise ValueError(f"not a checkpoint: {name} is {value!r}")
        return cls(**values)


class Tail(NamedTuple):
    """The result of one read."""

    data: bytes
    """Whole lines, including newlines; empty if there is nothing new."""
    start: int
    """The offset of `data` in the file."""
    checkpoint: Checkpoint
    """The checkpoint to pass in next time."""
    reset: str | None
    """Why reading started again ("missing" if there is no file), or None if it did not."""


def read_tail(path: str | Path, checkpoint: Checkpoint | None = None, limit: int | None = None) -> Tail:
    """Return the whole lines that have been added since `checkpoint`.

    `limit` is the maximum number of bytes, except that a single longer line is returned whole. Call again until `data`
    is empty.
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
    """Return the checkpoint of an open file that was read up to `offset`."""
    status = os.fstat(fd)
    head = read_at(fd, 0, min(offset, _HEAD_BYTES))
    before = read_at(fd, max(offset - _TAIL_BYTES, 0), min(offset, _TAIL_BYTES))
    return Checkpoint(offset, _get_inode(status), offset, 0, _hash_bytes(head), _hash_bytes(before))


def find_stale_reason(path: str | Path, checkpoint: Checkpoint) -> str | None:
    """Return why a file must be read from the start ("missing" if it does not exist), or None if it has only grown."""
    try:
        fd, status = open_regular_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    try:
        head = read_at(fd, 0, min(checkpoint.offset, _HEAD_BYTES))
        before = read_at(fd, max(checkpoint.offset - _TAIL_BYTES, 0), min(checkpoint.offset, _TAIL_BYTES))
        other = _get_inode(status) != checkpoint.inode  # even if nothing was read yet: the old file is open elsewhere
        return "replaced" if other else _find_reset_reason(status, checkpoint, head, before)
    finally:
        os.close(fd)


def is_same_start(fd: int, checkpoint: Checkpoint) -> bool:
    """Return whether an open file is still the file of a checkpoint, perhaps with additions."""
    head = read_at(fd, 0, min(checkpoint.offset, _HEAD_BYTES))
    before = read_at(fd, max(checkpoint.offset - _TAIL_BYTES, 0), min(checkpoint.offset, _TAIL_BYTES))
    return _find_reset_reason(os.fstat(fd), checkpoint, head, before) is None


def read_lines_before(fd: int, start: int, end: int, limit: int) -> bytes:
    """Read whole lines between `start` and `end`, about `limit` bytes; the last line may lack its line ending."""
    data, _ = _read_whole_lines(fd, start, end, limit)
    return data or read_at(fd, start, end - start)


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
    # Hash what was returned, not what the file contains by now.
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
    """Read the whole lines between `start` and `end`; also return the offset up to which the file has been searched."""
    size = end - start if limit is None else min(max(limit, 1), end - start)
    block = read_at(fd, start, size)
    length = block.rfind(b"\n") + 1
    if len(block) < size or start + size == end:
        return block[:length], start + len(block)
    return (block[:length], start + length) if length else _read_long_line(fd, start, end, size)


def _read_long_line(fd: int, start: int, end: int, size: int) -> tuple[bytes, int]:
    """Read a line that is longer than the limit; find its end first so that only one copy is in memory."""
    line_end = min(find_line_end(fd, start + size), end)
    line = read_at(fd, start, line_end - start)
    return (line, line_end) if line.endswith(b"\n") else (b"", line_end)


def _get_inode(status: os.stat_result) -> int:
    return 0 if os.name == "nt" else status.st_ino


def _get_settled_mtime(status: os.stat_result) -> int:
    return status.st_mtime_ns if time.time_ns() - status.st_mtime_ns > _SETTLED_NS else 0


def _hash_bytes(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
