"""The one door by which session files are written: adding to the end, and putting another content in the place.

    append    one write of whole lines to the end, as the client itself does it: writers don't tear each other's lines
    replace   a temporary file in the same folder, flushed to the disk, then renamed over the old one
    create    the same for a file that is new: it appears whole, and never in the place of another

All follow links only as far as they stay within a folder that the caller names; the first two refuse (`Changed`) when
the file is no longer what the caller looked at. Two turnlogs lock each other out while they append or replace. Nothing
locks out the client, which knows no locks: `append` waits for a write of its that is under way, and `replace` carries
over what was added to the old file in the last moment.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.file_ends import open_regular_file, read_at
from turnlog.entries.tail import Checkpoint, find_stale_reason, make_checkpoint
from turnlog.errors import Changed, TurnlogError

_NEVER_WAIT_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_APPEND_FLAGS = os.O_RDWR | os.O_APPEND | _NEVER_WAIT_FLAGS
_LOOK_AGAIN_SECONDS = (0.001, 0.005, 0.02, 0.05)
_BUFFER_BYTES = 1 << 20
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NEVER_WAIT_FLAGS


class WholeFile(NamedTuple):
    """A file that was read to its end."""

    data: bytes
    checkpoint: Checkpoint
    """To be handed to `append` or `replace`, which then see whether the file changed since."""


def read_whole_file(path: str | Path) -> WholeFile:
    """Read a file that is to be replaced."""
    fd, status = open_regular_file(path)
    try:
        data = read_at(fd, 0, status.st_size)
        return WholeFile(data, make_checkpoint(fd, len(data)))
    finally:
        os.close(fd)


def append_lines(
    path: Path,
    lines: bytes,
    *,
    root: Path,
    mend: bool = True,
    expected: Checkpoint | None = None,
    flush: bool = True,
) -> int:
    """Add whole lines to the end of a file that exists, in one write; give the offset at which they stand.

    A last line without its end, torn or not, gets one first, so that nothing is glued to it; without `mend` that is
    refused, because somebody may still be writing it. Without `flush` a power failure may take the lines again, the end
    of a process does not.
    """
    real = resolve_inside(path, root)
    fd = os.open(real, _APPEND_FLAGS)
    try:
        lock_file(fd)
        _check_unchanged(real, os.fstat(fd), expected)
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


def replace_file(
    path: Path,
    data: bytes | Iterable[bytes],
    *,
    root: Path,
    expected: Checkpoint | None = None,
    mode: int = 0o600,
    keep_times: bool = False,
) -> None:
    """Put another content in the place of a file, at once; whoever reads sees the old one or the new one.

    With `expected` the file must still be what it was when that was taken. Without, a missing file is made, with
    `mode`; one that is there keeps its own.
    """
    real = resolve_inside(path, root)
    with _lock_existing(real) as fd:
        status = real.stat() if real.exists() else None
        if status is None and expected is not None:
            raise Changed(f"{path}: is gone; nothing was written")
        temporary = _write_temporary(real, data)
        try:
            _copy_attributes(temporary, status, mode, keep_times)
            if status is not None:
                _check_unchanged(real, status, expected)
            temporary.replace(real)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        flush_folder(real.parent)
        if fd is not None and expected is not None:
            _carry_over_appended(fd, expected.size, real)


def create_file(path: Path, data: bytes | Iterable[bytes], *, root: Path, mode: int = 0o600) -> None:
    """Write a file that is new; `FileExistsError` if something stands there."""
    real = resolve_inside(path, root)
    temporary = _write_temporary(real, data)
    try:
        temporary.chmod(mode)
        _move_into_place(temporary, real)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    flush_folder(real.parent)


def _move_into_place(temporary: Path, real: Path) -> None:
    try:
        os.link(temporary, real)
    except FileExistsError:
        raise
    except OSError:  # a file system without second names
        if os.path.lexists(real):
            raise FileExistsError(errno.EEXIST, "stands there already", str(real)) from None
        temporary.rename(real)
    else:
        temporary.unlink()


def _carry_over_appended(fd: int, size: int, real: Path) -> None:
    """Add to the new file what was added to the old one after it was looked at."""
    if late := read_at(fd, size, max(os.fstat(fd).st_size - size, 0)):
        append_lines(real, late, root=real.parent)


def resolve_inside(path: Path, root: Path) -> Path:
    """Give the file that a path leads to, which must lie within a folder."""
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(os.path.realpath(root)):
        raise TurnlogError(f"{path}: leads out of {root}, to {real}; nothing was written")
    return real


def remove_leftover_temporary(path: Path) -> None:
    """Remove what a killed process may have left beside a file that it was about to replace."""
    _name_temporary(path).unlink(missing_ok=True)


def lock_file(fd: int) -> None:
    """Wait until no other turnlog holds an open file, and hold it until it is closed."""
    if sys.platform != "win32":  # pragma: no branch
        import fcntl

        with contextlib.suppress(OSError):  # some network folders know no locks
            fcntl.flock(fd, fcntl.LOCK_EX)


def flush_folder(folder: Path) -> None:
    """Make sure that names in a folder outlast a power failure, where folders can be opened."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


@contextlib.contextmanager
def _lock_existing(real: Path) -> Iterator[int | None]:
    """Open and lock a file that is to be replaced; None if there is none."""
    if sys.platform == "win32":  # pragma: no cover - there an open file can't be replaced
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


def _check_unchanged(real: Path, status: os.stat_result, expected: Checkpoint | None) -> None:
    """See that the name still leads to the same file, and that this is what the caller looked at."""
    try:
        now = real.stat()
    except FileNotFoundError:
        raise Changed(f"{real}: was removed meanwhile; nothing was written") from None
    reason = None if os.path.samestat(now, status) else "replaced"
    if expected is not None:
        reason = reason or find_stale_reason(real, expected) or (None if now.st_size == expected.size else "written")
    if reason:
        raise Changed(f"{real}: was {reason} meanwhile; nothing was written, try again")


def _write_temporary(real: Path, data: bytes | Iterable[bytes]) -> Path:
    """Write the new content beside the old one, for its owner only, and flush it to the disk."""
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
    # One name for each file, so that what a killed process left behind is found again; hashed, lest it be too long.
    return real.with_name(f".turnlog-{blake2b(os.fsencode(real.name), digest_size=8).hexdigest()}.tmp")


def _copy_attributes(temporary: Path, status: os.stat_result | None, mode: int, keep_times: bool) -> None:
    """Give a new file the mode of the old one and, where wanted, its times."""
    temporary.chmod(mode if status is None else status.st_mode & 0o7777)
    if status is not None and keep_times:
        os.utime(temporary, ns=(status.st_atime_ns, status.st_mtime_ns))
