"""A file that comes with a checkout, or that anybody may have put there: a device, a pipe or a huge one is not read."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from turnlog.entries.file_ends import open_regular_file, read_at


def leaves_folder(path: Path, folder: Path) -> bool:
    """Whether a path leads elsewhere, once links and `..` are followed: a checkout can name any file of the machine."""
    root = Path(os.path.realpath(folder))
    real = Path(os.path.realpath(path))
    return real != root and root not in real.parents


def read_small_file(path: Path, largest: int) -> bytes:
    """What a regular file holds; an `OSError` if it is none, or larger."""
    fd, status = open_regular_file(path)
    try:
        if status.st_size > largest:
            raise OSError(errno.EFBIG, "it is too large", str(path))
        return read_at(fd, 0, status.st_size)
    finally:
        os.close(fd)
