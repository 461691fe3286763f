"""Lines that were added to the end of a file: whether they still are its end, and how they are cut off again."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from turnlog.edit.undo.kept_files import write_new_file
from turnlog.edit.undo.record import FileState, UndoItem
from turnlog.entries.atomic_file import lock_file
from turnlog.entries.file_ends import open_regular_file, read_at
from turnlog.errors import Changed


def is_cut_off(item: UndoItem, path: Path) -> bool:
    """Whether a file is as long as it was before."""
    return item.before is not None and path.exists() and path.stat().st_size == item.before.size


def is_appended_at_end(item: UndoItem, path: Path) -> bool:
    """Whether what was appended is still the end of the file."""
    if item.after is None or item.before is None or not path.exists():
        return False
    fd, status = open_regular_file(path)
    try:
        tail = read_at(fd, max(status.st_size - item.after.size, 0), item.after.size)
    finally:
        os.close(fd)
    grown = status.st_size - item.before.size
    return grown >= item.after.size and hashlib.sha256(tail).hexdigest() == item.after.sha256


def cut_appended(item: UndoItem, path: Path, made: Path) -> None:
    """Take off the end of a file what was appended to it; with the line end that it needed before."""
    if item.after is None or item.before is None:
        return
    fd = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0))
    try:
        lock_file(fd)
        size = os.fstat(fd).st_size
        start = size - item.after.size
        is_whole = start - item.before.size <= 1
        write_new_file(_make_parent_folder(made), [read_at(fd, start, item.after.size)], 0o600, None)
        if os.fstat(fd).st_size != size:
            raise Changed(f"{path}: was written meanwhile; nothing was cut off, try again")
        os.ftruncate(fd, item.before.size if is_whole else start)
        os.fsync(fd)
    finally:
        os.close(fd)


def restore_times(path: Path, before: FileState | None) -> None:
    """Give a file or folder the time that it had."""
    if before is not None:
        os.utime(path, ns=(path.stat().st_atime_ns, before.mtime_ns))


def _make_parent_folder(made: Path) -> Path:
    made.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return made
