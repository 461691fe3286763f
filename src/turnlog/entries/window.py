"""The two ends of a file, and the lines in them: enough to say what a session is without reading it."""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path
from typing import NamedTuple

WINDOW = 64 * 1024
"""How many bytes of each end are looked at."""

# A named pipe would block the opening for ever; elsewhere the flag changes nothing.
_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)


class Ends(NamedTuple):
    """The first and the last part of a file; the head is all of a file that fits, and the tail then empty."""

    head: bytes
    tail: bytes
    size: int


class Opened(NamedTuple):
    """An open file; who asked for it closes `fd`."""

    fd: int
    status: os.stat_result


def open_regular(path: str | Path) -> Opened:
    """Open a regular file for reading; anything else is an `OSError`."""
    fd = os.open(path, _FLAGS)
    status = os.fstat(fd)
    if stat.S_ISREG(status.st_mode):
        return Opened(fd, status)
    os.close(fd)
    raise OSError(errno.EINVAL, "not a regular file", str(path))


def read_at(fd: int, offset: int, size: int) -> bytes:
    """Read up to `size` bytes from `offset` on; fewer only at the end of the file."""
    os.lseek(fd, offset, os.SEEK_SET)
    parts = []
    while size and (part := os.read(fd, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def read_ends(path: str | Path) -> Ends:
    """Read the first and the last 64 KB of a file, with one opening."""
    fd, status = open_regular(path)
    size = status.st_size
    try:
        if size <= 2 * WINDOW:
            head = read_at(fd, 0, size)
            return Ends(head, b"", len(head))
        return Ends(read_at(fd, 0, WINDOW), read_at(fd, size - WINDOW, WINDOW), size)
    finally:
        os.close(fd)


def lines_of(data: bytes) -> list[bytes]:
    """Cut bytes into lines, each with its newline; several times as fast as `split`."""
    return io.BytesIO(data).readlines()
