"""The two ends of a file and the lines in them, which are enough to describe a session without reading all of it."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple

LONG_LINE = 2 << 20
"""Lines longer than this, in bytes, are read in a way that keeps only one copy in memory."""
_BLOCK = 1 << 20
MAX_END_BYTES = 64 * 1024
"""How many bytes at each end are read."""

# Opening a named pipe would block forever; for other files the flag changes nothing.
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)


class FileEnds(NamedTuple):
    """The start and end of a file; if the whole file fits, `head` contains it and `tail` is empty."""

    head: bytes
    tail: bytes
    size: int


class OpenFile(NamedTuple):
    """An open file; the caller closes `fd`."""

    fd: int
    status: os.stat_result


def open_regular_file(path: str | Path) -> OpenFile:
    """Open a regular file for reading; raise `OSError` for anything else."""
    fd = os.open(path, _OPEN_FLAGS)
    status = os.fstat(fd)
    if stat.S_ISREG(status.st_mode):
        return OpenFile(fd, status)
    os.close(fd)
    raise OSError(errno.EINVAL, "not a regular file", str(path))


def read_at(fd: int, offset: int, size: int) -> bytes:
    """Read up to `size` bytes from `offset`; return fewer only at the end of the file."""
    os.lseek(fd, offset, os.SEEK_SET)
    parts = []
    while size and (part := os.read(fd, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def read_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file from its current position, with only one copy of a very long line in memory.

    The buffered reader would collect such a line in pieces and then join them, which takes twice as much memory.
    """
    for line in iter(partial(file.readline, LONG_LINE), b""):
        if len(line) < LONG_LINE or line.endswith(b"\n"):
            yield line
            continue
        start, fd = file.tell() - len(line), file.fileno()
        ahead = os.lseek(fd, 0, os.SEEK_CUR)  # where the buffered reader expects the file to be
        whole = read_at(fd, start, find_line_end(fd, start + len(line)) - start)
        os.lseek(fd, ahead, os.SEEK_SET)
        file.seek(start + len(whole))
        yield whole


def find_line_end(fd: int, offset: int) -> int:
    """Return the end of the line at an offset, including its newline, or the end of the file."""
    while block := read_at(fd, offset, _BLOCK):
        if length := block.find(b"\n") + 1:
            return offset + length
        offset += len(block)
    return offset


def read_ends(path: str | Path) -> FileEnds:
    """Read the first and last 64 KB of a file, opening it only once."""
    fd, status = open_regular_file(path)
    size = status.st_size
    try:
        if size <= 2 * MAX_END_BYTES:
            head = read_at(fd, 0, size)
            return FileEnds(head, b"", len(head))
        return FileEnds(read_at(fd, 0, MAX_END_BYTES), read_at(fd, size - MAX_END_BYTES, MAX_END_BYTES), size)
    finally:
        os.close(fd)


def split_lines(data: bytes) -> list[bytes]:
    """Split bytes into lines, each with its newline; several times faster than `split`."""
    return io.BytesIO(data).readlines()
