"""The only way to write session files: transcripts, and the prompt history, to which clients append at any time.

    append_lines           one write of whole lines to the end, as the client itself does it: no writer tears a line
    replace_session_file   a new content in one step, with what was appended to the old file in the last moment
    create_session_file    a new file that appears whole, and never in the place of another
    place_session_file     the same for content that was written beside its place before

Two turnlogs lock each other out while they append or replace. Nothing locks out the client, which knows no locks:
`append_lines` waits for a write that the client has begun. An import contract (pyproject.toml) names the modules that
may import this one; all other files are written with `atomic_file`.
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
    """Append whole lines to an existing file in one write; return the offset at which they begin.

    A last line without a line end, torn or not, gets one first, so that nothing is glued to it; without `mend` the call
    is refused, because somebody may still be writing that line. Without `flush` the lines survive the end of the
    process, but may not survive a power failure.
    """
    real = resolve_inside(path, root)
    fd = os.open(real, _APPEND_FLAGS)
    try:
        lock_file(fd)
        check_unchanged(real, os.fstat(fd), expected)
        gap = b"" if _has_complete_end(fd) else b"\n"
        if gap and not mend:
            raise Changed(f"{path}: its last line is being written; try again in a moment")
        end = _write_at_end(fd, gap + lines, path)
        if flush:
            os.fsync(fd)
        return end - len(lines)
    finally:
        os.close(fd)


def _has_complete_end(fd: int) -> bool:
    """Whether the last line of a file has its end.

    A write of somebody else is seen in parts, so a line is torn only if the file stays as it is for a while.
    """
    seen, pauses = -1, iter(_LOOK_AGAIN_SECONDS)
    while (size := os.fstat(fd).st_size) and read_at(fd, size - 1, 1) != b"\n":
        if size != seen:
            seen, pauses = size, iter(_LOOK_AGAIN_SECONDS)
        _wait_for_writes(fd)
        if (pause := next(pauses, None)) is None:
            return False
        time.sleep(pause)
    return True


def _wait_for_writes(fd: int) -> None:
    """Wait until a write that has begun is done, where the system can tell: on a busy machine it may rest for long.

    Linux looks for holes in a local file only while nobody writes to it. `fd` appends, so where it stands is of no use.
    """
    if hasattr(os, "SEEK_HOLE"):  # pragma: no branch
        with contextlib.suppress(OSError):
            os.lseek(fd, 0, os.SEEK_HOLE)


def _write_at_end(fd: int, data: bytes, path: Path) -> int:
    """Write to the end, all or nothing; give the offset behind it."""
    done = os.write(fd, data)
    end = os.lseek(fd, 0, os.SEEK_CUR)
    if done < len(data):
        if os.fstat(fd).st_size == end:  # nobody has written behind it yet
            os.truncate(fd, end - done)
        raise TurnlogError(f"{path}: only {done} of {len(data)} bytes could be written; is the disk full?")
    return end


def create_session_file(path: Path, data: bytes | Iterable[bytes], *, root: Path) -> None:
    """Write a new session file; raises `FileExistsError` if the path is taken."""
    create_file(path, data, root=root)


def place_session_file(temporary: Path, path: Path, *, may_replace: bool = False) -> None:
    """Give a file that was written beside its place its name; raises `FileExistsError` if the name is taken."""
    if may_replace:
        temporary.replace(path)
    else:
        move_into_place(temporary, path)


def replace_session_file(
    path: Path, data: bytes | Iterable[bytes], *, root: Path, expected: Checkpoint | None = None
) -> None:
    """Replace the content of a session file in one step; a missing file is created.

    With `expected` the file must still be what it was when that was taken, and lines that somebody appends to it while
    it is replaced are appended to the new content.
    """
    real = resolve_inside(path, root)
    with lock_existing(real) as fd:
        replace_locked_file(real, data, expected=expected)
        if fd is not None and expected is not None:
            _carry_over_appended(fd, expected.size, real)


def _carry_over_appended(fd: int, size: int, real: Path) -> None:
    """Add to the new file what was added to the old one after it was looked at."""
    if late := read_at(fd, size, max(os.fstat(fd).st_size - size, 0)):
        append_lines(real, late, root=real.parent)
