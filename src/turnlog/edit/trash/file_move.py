"""Moving one file or link so that at every moment it stands whole in at least one of the two places.

Within a file system it gets a second name and then loses the first. Across file systems it is copied, flushed, read
back and compared before the original goes. Nothing that stands in the new place is ever overwritten. Who is stopped in
between leaves both: equal content, so that the move can be done again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from pathlib import Path

from turnlog.entries.atomic_file import flush_folder
from turnlog.errors import Changed, TurnlogError

_BLOCK_BYTES = 1 << 20
PART_SUFFIX = ".turnlog-part"
"""How the name of an unfinished copy ends; it is made anew by the next attempt."""


def move_file(source: Path, goal: Path) -> None:
    """Move a file or link; `FileExistsError` if something stands in the new place."""
    try:
        _link_file(source, goal)
    except FileExistsError:
        raise
    except OSError:
        _rename_or_copy(source, goal)
    else:
        source.unlink()


def _link_file(source: Path, goal: Path) -> None:
    if os.link in os.supports_follow_symlinks:
        os.link(source, goal, follow_symlinks=False)
    else:
        os.link(source, goal)


def _rename_or_copy(source: Path, goal: Path) -> None:
    """Move where files can't have two names, or to another file system."""
    status = source.lstat()
    _check_free(goal)
    if status.st_dev == goal.parent.stat().st_dev:
        source.rename(goal)
    elif stat.S_ISLNK(status.st_mode):
        goal.symlink_to(source.readlink())
        shutil.copystat(source, goal, follow_symlinks=False)
        source.unlink()
    elif stat.S_ISREG(status.st_mode):
        _copy_file(source, goal, status)
    else:
        raise TurnlogError(f"{source}: is neither file nor link, and can't be moved to {goal}")


def _copy_file(source: Path, goal: Path, before: os.stat_result) -> None:
    part = _get_part_path(goal)
    with source.open("rb") as taken, part.open("wb") as made:
        shutil.copyfileobj(taken, made, _BLOCK_BYTES)
        made.flush()
        os.fsync(made.fileno())
    shutil.copystat(source, part)
    if hash_file_content(part) != hash_file_content(source) or not is_same_state(source.lstat(), before):
        part.unlink()
        raise Changed(f"{source}: changed while it was copied; try again")
    _check_free(goal)
    part.rename(goal)
    flush_folder(goal.parent)
    source.unlink()


def _get_part_path(goal: Path) -> Path:
    return goal.with_name(hashlib.sha256(os.fsencode(goal.name)).hexdigest()[:16] + PART_SUFFIX)


def _check_free(goal: Path) -> None:
    if os.path.lexists(goal):
        raise FileExistsError(17, "stands there already", str(goal))


def is_same_state(one: os.stat_result, other: os.stat_result) -> bool:
    """Whether nothing was written between two looks at a file."""
    return (one.st_size, one.st_mtime_ns) == (other.st_size, other.st_mtime_ns)


def hash_file_content(path: Path) -> str:
    """The hash of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
