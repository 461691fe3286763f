"""The only module that writes session files: transcripts and the prompt history, which clients may extend at any time.

    append_lines           appends whole lines in a single write, as the client does, so that no line is torn
    replace_session_file   replaces the content in one step, keeping lines that were appended at the last moment
    create_session_file    creates a new file, which appears whole and never replaces another file
    place_session_file     does the same with content that was already written next to its final path

turnlog processes lock each other out while they append to a file or replace one. The client does not use locks and so
can't be locked out: `append_lines` waits for a write that the client has started. An import contract (pyproject.toml)
lists the modules that may import this one; all other files are written with `atomic_file`.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path

from turnlog.entries.atomic_file import (
    NEVER_WAIT_FLAGS,
    check_unchanged,
    create_file,
    lock_existing,
    lock_file,
    move_into_place,
    replace_locked_file,
    resolve_inside,
)
from turnlog.entries.file_ends import read_at
from turnlog.entries.tail import Checkpoint
from turnlog.errors import Changed, TurnlogError

_APPEND_FLAGS = os.O_RDWR | os.O_APPEND | NEVER_WAIT_FLAGS
_LOOK_AGAIN_SECONDS = (0.001, 0.005, 0.02, 0.05)


def append_lines(
    path: Path,
    lines: bytes,
    *,
    root: Path,
    mend: bool = True,
    expected: Checkpoint | None = None,
    flush: bool = True,
) -> int:
    """Append whole lines to an existing file in a single write; return the offset at which they start.

    If the last line has no line end, one is added first so that the new lines are not joined to that line; without
    `mend`, the call is refused instead, because another program may still be writing that line. Without `flush`, the
    lines survive the end of the process but perhaps not a power failure.
    """
    real = resolve_inside(path, root)
    fd = os.open(real, _APPEND_FLAGS)
    try:
        lock_file(fd)
        check_unchanged(real, os.fstat(fd), expected)
        gap = b"" if _has_complete_end(fd) else b"\n"
        if gap and not mend:
            raise Changed(f"{path}: the last line is still being written; try again in a moment")
        end = _write_at_end(fd, gap + lines, path)
        if flush:
            os.fsync(fd)
        return end - len(lines)
    finally:
        os.close(fd)


def _has_complete_end(fd: int) -> bool:
    """Return whether the last line of a file is complete.

    A write by another program may be only partly visible: a line counts as torn only if the file does not change for a
    while.
    """
    last_size, pauses = -1, iter(_LOOK_AGAIN_SECONDS)
    while (size := os.fstat(fd).st_size) and read_at(fd, size - 1, 1) != b"\n":
        if size != last_size:
            last_size, pauses = size, iter(_LOOK_AGAIN_SECONDS)
        _wait_for_writes(fd)
        if (pause := next(pauses, None)) is None:
            return False
        time.sleep(pause)
    return True


def _wait_for_writes(fd: int) -> None:
    """Wait for a write in progress, where the system supports it: a busy machine may pause a write for a long time.

    Linux searches a local file for holes only while nobody is writing to it. `fd` is opened for appending, so its
    position does not matter.
    """
    if hasattr(os, "SEEK_HOLE"):  # pragma: no branch
        with contextlib.suppress(OSError):
            os.lseek(fd, 0, os.SEEK_HOLE)


def _write_at_end(fd: int, data: bytes, path: Path) -> int:
    """Write all the data to the end of the file, or none of it; return the new end."""
    written = os.write(fd, data)
    end = os.lseek(fd, 0, os.SEEK_CUR)
    if written < len(data):
        if os.fstat(fd).st_size == end:  # nothing was appended after it yet
            os.truncate(fd, end - written)
        raise TurnlogError(f"{path}: only {written} of {len(data)} bytes could be written; is the disk full?")
    return end


def create_session_file(path: Path, data: bytes | Iterable[bytes], *, root: Path) -> None:
    """Write a new session file; raise `FileExistsError` if the path is taken."""
    create_file(path, data, root=root)


def place_session_file(temporary: Path, path: Path, *, may_replace: bool = False) -> None:
    """Rename a file that was written next to its final path; raise `FileExistsError` if the name is taken."""
    if may_replace:
        temporary.replace(path)
    else:
        move_into_place(temporary, path)


def replace_session_file(
    path: Path, data: bytes | Iterable[bytes], *, root: Path, expected: Checkpoint | None = None
) -> None:
    """Replace the content of a session file in one step; a missing file is created.

    With `expected`, the file must be unchanged since that checkpoint, and lines that another program appends during
    the replacement are appended to the new content.
    """
    real = resolve_inside(path, root)
    with lock_existing(real) as fd:
        replace_locked_file(real, data, expected=expected)
        if fd is not None and expected is not None:
            _carry_over_appended(fd, expected.size, real)


def _carry_over_appended(fd: int, size: int, real: Path) -> None:
    """Append to the new file whatever was appended to the old file after the check."""
    if late := read_at(fd, size, max(os.fstat(fd).st_size - size, 0)):
        append_lines(real, late, root=real.parent)
