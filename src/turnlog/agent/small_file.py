"""Reads small files from untrusted folders; never reads devices, pipes or huge files."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from turnlog.entries.file_ends import open_regular_file, read_at


def leaves_folder(path: Path, folder: Path) -> bool:
    """Return whether a path is outside a folder once links and `..` are resolved; a checkout may link to any file."""
    root = Path(os.path.realpath(folder))
    real = Path(os.path.realpath(path))
    return real != root and root not in real.parents


def read_small_file(path: Path, largest: int) -> bytes:
    """Return the content of a regular file; raise OSError if it is larger than `largest` or not a regular file."""
    fd, status = open_regular_file(path)
    try:
        if status.st_size > largest:
            raise OSError(errno.EFBIG, "too large", str(path))
        return read_at(fd, 0, status.st_size)
    finally:
        os.close(fd)
