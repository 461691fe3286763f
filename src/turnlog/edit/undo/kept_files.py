"""Files that are kept and put back: what stands at a place, a second name or copy of it, and the way home.

Within a file system a kept file is the very file, by a second name. Across file systems it is a copy that was flushed
and compared. Either way the place holds, at every moment, the old content or the new one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path

from turnlog.edit.trash.file_move import hash_file_content
from turnlog.edit.undo.record import FileState
from turnlog.entries.atomic_file import flush_folder
from turnlog.errors import Changed

_BLOCK_BYTES = 1 << 20
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_PART_SUFFIX = ".turnlog-part"


def inspect_path(path: Path) -> FileState | None:
    """What stands at a place; None for nothing."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISDIR(status.st_mode):
        return FileState(0, mode, status.st_mtime_ns, is_folder=True)
    if stat.S_ISLNK(status.st_mode):
        digest = hashlib.sha256(os.fsencode(path.readlink())).hexdigest()
    elif stat.S_ISREG(status.st_mode):
        digest = hash_file_content(path)
    else:
        digest = "special"
    return FileState(status.st_size, mode, status.st_mtime_ns, digest)


def has_known_content(path: Path, known: FileState | None) -> bool:
    """Whether the content that is known stands at a place."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return known is None
    if known is None or known.is_folder:
        return known is not None and stat.S_ISDIR(status.st_mode)
    if stat.S_ISDIR(status.st_mode) or status.st_size != known.size:
        return False
    found = inspect_path(path)
    return found is not None and found.sha256 == known.sha256


def is_untouched(path: Path, known: FileState) -> bool:
    """Whether a file was not written since it was looked at, as far as size and time tell."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return (status.st_size, status.st_mtime_ns) == (known.size, known.mtime_ns)


def is_same_file(one: Path, other: Path) -> bool:
    """Whether two names lead to one file."""
    try:
        return os.path.samestat(one.lstat(), other.lstat())
    except OSError:
        return False


def keep_file(source: Path, goal: Path) -> None:
    """Give a file a second name, or copy it where that can't be; what an interrupted attempt left there goes."""
    goal.unlink(missing_ok=True)
    goal.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        os.link(source, goal)
    except OSError:
        copy_file(source, goal)


def copy_file(source: Path, goal: Path) -> None:
    """Copy a file with mode and times, flushed and compared, so that it appears whole."""
    part = goal.with_name(goal.name[:200] + _PART_SUFFIX)
    part.unlink(missing_ok=True)
    before = source.lstat()
    try:
        with source.open("rb") as taken, part.open("xb") as made:
            shutil.copyfileobj(taken, made, _BLOCK_BYTES)
            made.flush()
            os.fsync(made.fileno())
        shutil.copystat(source, part)
        now = source.lstat()
        if (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns) or hash_file_content(
            part
        ) != hash_file_content(source):
            raise Changed(f"{source}: changed while it was copied; nothing was changed, try again")
        part.replace(goal)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    flush_folder(goal.parent)


def put_kept_file(kept: Path, place: Path) -> None:
    """Put a kept file in the place of whatever stands there, at once; then it is kept no longer."""
    if is_same_file(kept, place):  # renaming would leave both names
        kept.unlink()
        return
    try:
        kept.replace(place)
    except OSError:
        if not kept.exists():
            raise
        copy_file(kept, place)
        kept.unlink()
    flush_folder(place.parent)


def write_new_file(path: Path, lines: Iterable[bytes], mode: int, times: tuple[int, int] | None) -> FileState:
    """Write a new file, flushed to the disk; what an interrupted attempt left there goes."""
    path.unlink(missing_ok=True)
    digest = hashlib.sha256()
    try:
        with os.fdopen(os.open(path, _CREATE_FLAGS, 0o600), "wb", _BLOCK_BYTES) as file:
            for piece in lines:
                digest.update(piece)
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        path.chmod(mode)
        if times is not None:
            os.utime(path, ns=times)
        status = path.stat()
    except BaseException:
        with contextlib.suppress(OSError):
            path.unlink()
        raise
    return FileState(status.st_size, stat.S_IMODE(status.st_mode), status.st_mtime_ns, digest.hexdigest())
