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

from turnlog.edit.trash.moving import sha256
from turnlog.edit.undo.record import State
from turnlog.entries.writer import sync_folder
from turnlog.errors import Changed

_BLOCK = 1 << 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_PART = ".turnlog-part"


def seen(path: Path) -> State | None:
    """What stands at a place; None for nothing."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISDIR(status.st_mode):
        return State(0, mode, status.st_mtime_ns, is_folder=True)
    if stat.S_ISLNK(status.st_mode):
        digest = hashlib.sha256(os.fsencode(path.readlink())).hexdigest()
    elif stat.S_ISREG(status.st_mode):
        digest = sha256(path)
    else:
        digest = "special"
    return State(status.st_size, mode, status.st_mtime_ns, digest)


def holds(path: Path, known: State | None) -> bool:
    """Whether the content that is known stands at a place."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return known is None
    if known is None or known.is_folder:
        return known is not None and stat.S_ISDIR(status.st_mode)
    if stat.S_ISDIR(status.st_mode) or status.st_size != known.size:
        return False
    found = seen(path)
    return found is not None and found.sha256 == known.sha256


def is_untouched(path: Path, known: State) -> bool:
    """Whether a file was not written since it was looked at, as far as size and time tell."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return (status.st_size, status.st_mtime_ns) == (known.size, known.mtime_ns)


def same_file(one: Path, other: Path) -> bool:
    """Whether two names lead to one file."""
    try:
        return os.path.samestat(one.lstat(), other.lstat())
    except OSError:
        return False


def keep(source: Path, goal: Path) -> None:
    """Give a file a second name, or copy it where that can't be; what an interrupted attempt left there goes."""
    goal.unlink(missing_ok=True)
    goal.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        os.link(source, goal)
    except OSError:
        copy(source, goal)


def copy(source: Path, goal: Path) -> None:
    """Copy a file with mode and times, flushed and compared, so that it appears whole."""
    part = goal.with_name(goal.name[:200] + _PART)
    part.unlink(missing_ok=True)
    before = source.lstat()
    try:
        with source.open("rb") as taken, part.open("xb") as made:
            shutil.copyfileobj(taken, made, _BLOCK)
            made.flush()
            os.fsync(made.fileno())
        shutil.copystat(source, part)
        now = source.lstat()
        if (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns) or sha256(part) != sha256(source):
            raise Changed(f"{source}: changed while it was copied; nothing was changed, try again")
        part.replace(goal)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    sync_folder(goal.parent)


def put(kept: Path, place: Path) -> None:
    """Put a kept file in the place of whatever stands there, at once; then it is kept no longer."""
    if same_file(kept, place):  # renaming would leave both names
        kept.unlink()
        return
    try:
        kept.replace(place)
    except OSError:
        if not kept.exists():
            raise
        copy(kept, place)
        kept.unlink()
    sync_folder(place.parent)


def written(path: Path, lines: Iterable[bytes], mode: int, times: tuple[int, int] | None) -> State:
    """Write a new file, flushed to the disk; what an interrupted attempt left there goes."""
    path.unlink(missing_ok=True)
    digest = hashlib.sha256()
    try:
        with os.fdopen(os.open(path, _NEW, 0o600), "wb", _BLOCK) as file:
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
    return State(status.st_size, stat.S_IMODE(status.st_mode), status.st_mtime_ns, digest.hexdigest())
