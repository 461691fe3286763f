"""Changes files as a whole: readers see either the old content or the new content, even after a power failure.

    replace_file   writes a temporary file in the same folder, flushes it to disk, and renames it over the old one
    create_file    does the same for a new file, which appears whole and never replaces another file

Both follow links only within a folder that the caller names. `replace_file` raises `Changed` if the file is no longer
what the caller read. Session files have their own `writer`, which is built on this module.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.file_ends import open_regular_file, read_at
from turnlog.entries.tail import Checkpoint, find_stale_reason, make_checkpoint
from turnlog.errors import Changed, TurnlogError

NEVER_WAIT_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_BUFFER_BYTES = 1 << 20
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NEVER_WAIT_FLAGS


class WholeFile(NamedTuple):
    """A file that was read completely."""

    data: bytes
    checkpoint: Checkpoint
    """Pass this when writing: the write is refused if the file has changed since then."""


def read_whole_file(path: str | Path) -> WholeFile:
    """Read a file that the caller will replace."""
    fd, status = open_regular_file(path)
    try:
        data = read_at(fd, 0, status.st_size)
        return WholeFile(data, make_checkpoint(fd, len(data)))
    finally:
        os.close(fd)


def replace_file(
    path: Path,
    data: bytes | Iterable[bytes],
    *,
    root: Path,
    expected: Checkpoint | None = None,
    mode: int = 0o600,
) -> None:
    """Replace the content of a file in one step; readers see either the old or the new content.

    With `expected`, the file must be unchanged since that checkpoint. Without it, a missing file is created with
    `mode`; an existing file keeps its own mode.
    """
    real = resolve_inside(path, root)
    if expected is not None and real.suffix == ".jsonl":  # a line that a client appends in the meantime would be lost
        raise ValueError(f"{path}: to replace a file that clients append to, use entries.writer")
    with lock_existing(real):
        replace_locked_file(real, data, expected=expected, mode=mode)


def replace_locked_file(
    real: Path, data: bytes | Iterable[bytes], *, expected: Checkpoint | None, mode: int = 0o600
) -> None:
    """Replace a file that the caller has resolved and locked."""
    status = real.stat() if real.exists() else None
    if status is None and expected is not None:
        raise Changed(f"{real}: the file no longer exists; nothing was written")
    temporary = _write_temporary(real, data)
    try:
        temporary.chmod(mode if status is None else status.st_mode & 0o7777)
        if status is not None:
            check_unchanged(real, status, expected)
        temporary.replace(real)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    flush_folder(real.parent)


def create_file(path: Path, data: bytes | Iterable[bytes], *, root: Path, mode: int = 0o600) -> None:
    """Write a new file; raise `FileExistsError` if the path is taken."""
    real = resolve_inside(path, root)
    temporary = _write_temporary(real, data)
    try:
        temporary.chmod(mode)
        move_into_place(temporary, real)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    flush_folder(real.parent)


def move_into_place(temporary: Path, real: Path) -> None:
    """Rename a finished file to its final name; raise `FileExistsError` if the name is taken."""
    try:
        os.link(temporary, real)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.lexists(real):
            raise FileExistsError(errno.EEXIST, "File exists", str(real)) from None
        temporary.rename(real)
    else:
        temporary.unlink()


def resolve_inside(path: Path, root: Path) -> Path:
    """Resolve links in a path; raise `TurnlogError` if the result is outside `root`."""
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(os.path.realpath(root)):
        raise TurnlogError(f"{path} resolves to {real}, which is outside {root}; nothing was written")
    return real


def remove_leftover_temporary(path: Path) -> None:
    """Remove the temporary file that a killed process may have left next to a file that it was replacing."""
    _name_temporary(path).unlink(missing_ok=True)


def lock_file(fd: int) -> None:
    """Wait until no other turnlog process has locked an open file, then lock it until it is closed."""
    if sys.platform != "win32":  # pragma: no branch
        import fcntl

        with contextlib.suppress(OSError):  # some network file systems have no locks
            fcntl.flock(fd, fcntl.LOCK_EX)


def flush_folder(folder: Path) -> None:
    """Make new names in a folder survive a power failure, on systems where folders can be opened."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


@contextlib.contextmanager
def lock_existing(real: Path) -> Iterator[int | None]:
    """Open and lock a file that is about to be replaced; yield its descriptor, or None if the file does not exist."""
    if sys.platform == "win32":  # pragma: no cover - Windows can't replace an open file
        yield None
        return
    try:
        fd, _ = open_regular_file(real)
    except FileNotFoundError:
        yield None
        return
    try:
        lock_file(fd)
        yield fd
    finally:
        os.close(fd)


def check_unchanged(real: Path, status: os.stat_result, expected: Checkpoint | None) -> None:
    """Raise `Changed` unless the path is still the same file and has the content that the caller read."""
    try:
        now = real.stat()
    except FileNotFoundError:
        raise Changed(f"{real}: removed in the meantime, so nothing was written") from None
    reason = None if os.path.samestat(now, status) else "replaced"
    if expected is not None:
        reason = reason or find_stale_reason(real, expected) or (None if now.st_size == expected.size else "modified")
    if reason:
        raise Changed(f"{real}: {reason} in the meantime, so nothing was written; try again")


def _write_temporary(real: Path, data: bytes | Iterable[bytes]) -> Path:
    """Write the new content to a file next to the old one, readable only by its owner, and flush it to disk."""
    remove_leftover_temporary(real)
    path = _name_temporary(real)
    try:
        with os.fdopen(os.open(path, _CREATE_FLAGS, 0o600), "wb", _BUFFER_BYTES) as file:
            file.writelines([data] if isinstance(data, bytes) else data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def _name_temporary(real: Path) -> Path:
    # One fixed name for each file, so that the next run finds what a killed process left; hashed to keep it short.
    return real.with_name(f".turnlog-{blake2b(os.fsencode(real.name), digest_size=8).hexdigest()}.tmp")
