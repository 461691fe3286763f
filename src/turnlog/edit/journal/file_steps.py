"""Operations on single files: each can be repeated after the process is killed, and none of them loses a file.

    write     writes a new file and flushes it to disk before anything refers to it
    name      gives a file a second name, which must not be taken
    keep      gives the original a second name; makes a copy where files can't have two names
    move      adds the new name, then removes the old, so that the file is always complete in at least one place
    put back  moves the kept file back to its place in one rename

A move to another file system copies, flushes, reads back and compares the file before it removes the original.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from turnlog.entries.atomic_file import flush_folder
from turnlog.errors import Changed, TurnlogError

_BLOCK_BYTES = 1 << 20
_PART_SUFFIX = ".turnlog-part"
"""The suffix of an unfinished copy; the next attempt replaces it."""
NEW_FILE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class FileState:
    """The state of a file, link or folder, as recorded in a journal's manifest."""

    size: int
    mode: int
    mtime_ns: int
    sha256: str | None = None
    """The hash of the content, or of a link's target; None for a folder, and for a file that is only appended to."""
    is_folder: bool = False


# -- inspection


def inspect_path(path: Path) -> FileState | None:
    """Describe what is at a path; return None if it does not exist."""
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


def hash_file_content(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_folder_names(folder: Path) -> str:
    """Hash the names in a folder, to detect later whether any were added or removed."""
    names = "\0".join(sorted(path.name for path in folder.iterdir()))
    return hashlib.sha256(names.encode(errors="surrogateescape")).hexdigest()


def has_known_content(path: Path, known: FileState | None) -> bool:
    """Return whether a path still has the known content; if `known` is None, whether it still does not exist."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return known is None
    if known is None or known.is_folder:
        return known is not None and stat.S_ISDIR(status.st_mode)
    if stat.S_ISDIR(status.st_mode) or status.st_size != known.size:
        return False
    current = inspect_path(path)
    return current is not None and current.sha256 == known.sha256


def is_untouched(path: Path, size: int, mtime_ns: int) -> bool:
    """Return whether a file still has the given size and modification time."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return (status.st_size, status.st_mtime_ns) == (size, mtime_ns)


def is_same_file(one: Path, other: Path) -> bool:
    """Return whether two names refer to the same file."""
    try:
        return os.path.samestat(one.lstat(), other.lstat())
    except OSError:
        return False


def check_free_path(path: Path) -> None:
    """Raise `Changed` if a path exists."""
    if os.path.lexists(path):
        raise Changed(f"{path}: this path already exists; nothing was changed")


def find_free_path(path: Path) -> Path:
    """Return the path itself if it is free, otherwise the first free path with a number added to its name."""
    number, free = 1, path
    while os.path.lexists(free):
        number += 1
        free = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return free


# -- steps


def write_new_file(path: Path, pieces: Iterable[bytes], mode: int, times: tuple[int, int] | None = None) -> FileState:
    """Write a new file and flush it to disk, replacing what an interrupted attempt left behind."""
    path.unlink(missing_ok=True)
    digest = hashlib.sha256()
    try:
        with os.fdopen(os.open(path, NEW_FILE_FLAGS, 0o600), "wb", _BLOCK_BYTES) as file:
            for piece in pieces:
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


def add_name(source: Path, goal: Path) -> None:
    """Give a file a second name, or rename it if it can have only one; raise `FileExistsError` if the name is taken."""
    try:
        os.link(source, goal)
    except FileExistsError:
        raise
    except OSError:
        _refuse_existing(goal)
        source.rename(goal)


def rename_to_free_path(source: Path, goal: Path) -> None:
    """Rename a file or folder; raise `Changed` if the name is taken."""
    check_free_path(goal)
    if source.is_dir() and not source.is_symlink():
        source.rename(goal)
    else:
        move_file(source, goal)
    flush_folder(goal.parent)


def keep_file(source: Path, goal: Path) -> None:
    """Keep a file under a second name or as a copy, replacing what an interrupted attempt left behind."""
    goal.unlink(missing_ok=True)
    goal.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        os.link(source, goal)
    except OSError:
        copy_file(source, goal)


def put_kept_file(kept: Path, place: Path) -> None:
    """Move a kept file back, replacing whatever is in its place, in one step."""
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


def move_file(source: Path, goal: Path) -> None:
    """Move a file or link, even to another file system; raise `FileExistsError` if the target exists."""
    try:
        if os.link in os.supports_follow_symlinks:
            os.link(source, goal, follow_symlinks=False)
        else:
            os.link(source, goal)
    except FileExistsError:
        raise
    except OSError:
        _rename_or_copy(source, goal)
    else:
        source.unlink()


def _rename_or_copy(source: Path, goal: Path) -> None:
    """Move a file to another file system, or within a file system where files can't have two names."""
    status = source.lstat()
    _refuse_existing(goal)
    if status.st_dev == goal.parent.stat().st_dev:
        source.rename(goal)
    elif stat.S_ISLNK(status.st_mode):
        goal.symlink_to(source.readlink())
        shutil.copystat(source, goal, follow_symlinks=False)
        source.unlink()
    elif stat.S_ISREG(status.st_mode):
        copy_file(source, goal, status, replaces=False)
        source.unlink()
    else:
        raise TurnlogError(f"{source}: neither a file nor a link, so it can't be moved to {goal}")


def copy_file(source: Path, goal: Path, before: os.stat_result | None = None, *, replaces: bool = True) -> None:
    """Copy a file with its mode and times; flush and compare the copy before it appears under its name.

    `before` is the file's state when the caller checked it. Without `replaces`, the target must not exist.
    """
    known, part = before or source.lstat(), _remove_old_parts(goal)
    try:
        with source.open("rb") as original, part.open("xb") as copy:
            shutil.copyfileobj(original, copy, _BLOCK_BYTES)
            copy.flush()
            os.fsync(copy.fileno())
        shutil.copystat(source, part)
        is_same = is_untouched(source, known.st_size, known.st_mtime_ns)
        if not is_same or hash_file_content(part) != hash_file_content(source):
            raise Changed(f"{source}: modified while being copied, so nothing was changed; try again")
        if not replaces:
            _refuse_existing(goal)
        part.replace(goal)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    flush_folder(goal.parent)


def _remove_old_parts(goal: Path) -> Path:
    """Return the name for an unfinished copy of a file, and remove what an interrupted attempt left behind."""
    part = goal.with_name(hashlib.sha256(os.fsencode(goal.name)).hexdigest()[:16] + _PART_SUFFIX)
    for leftover in (part, goal.with_name(goal.name[:200] + _PART_SUFFIX)):  # turnlog 0.1 used the second name too
        with contextlib.suppress(OSError):
            leftover.unlink()
    return part


def _refuse_existing(goal: Path) -> None:
    if os.path.lexists(goal):
        raise FileExistsError(errno.EEXIST, "already exists", str(goal))
