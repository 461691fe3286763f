"""Tells whether a file is still the one that was read, without reading it again.

A program can rewrite a file with the same size and set its time of modification back. It can't set back when the system
changed the file, and a file that was put in its place has another inode.
"""

from __future__ import annotations

import os
from typing import NamedTuple


class FileStamp(NamedTuple):
    """What changes when somebody writes to a file, or puts another one in its place."""

    size: int
    mtime_ns: int
    ctime_ns: int
    """When the system last changed the file or what it knows about it; 0 on Windows, where this is another time."""
    inode: int


def get_ctime_ns(status: os.stat_result) -> int:
    return 0 if os.name == "nt" else status.st_ctime_ns


def to_file_stamp(status: os.stat_result) -> FileStamp:
    return FileStamp(status.st_size, status.st_mtime_ns, get_ctime_ns(status), status.st_ino)
