"""Distinguishes a damaged database from one that can't be used right now, and moves a damaged one aside.

SQLite reports damage in many ways: "malformed", "not a database", "unsupported file format", a file that claims to be
read-only, or a folder where a file should be. A lock, a full disk or missing permissions are not damage: in these
cases, moving the database aside would discard a healthy one.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import apsw

DAMAGE_ERRORS = (apsw.CorruptError, apsw.NotADBError)
"""The errors that SQLite raises for a file whose content can't be a database."""
_PASSING_ERRORS = (apsw.BusyError, apsw.LockedError, apsw.FullError, apsw.NoMemError, apsw.InterruptError)
_COMPANION_SUFFIXES = ("-wal", "-shm", "-journal")


def is_database_damage(error: apsw.Error, path: Path) -> bool:
    """Return whether opening a database failed because it is damaged; the caller must have closed the connection."""
    if isinstance(error, _PASSING_ERRORS):
        return False
    places = [path, *(path.with_name(path.name + ending) for ending in _COMPANION_SUFFIXES)]
    if isinstance(error, apsw.CantOpenError | apsw.IOError):
        # On a full disk, or without free file descriptors, a sound database can't be opened either.
        return any(map(_is_not_regular_file, places))
    if isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError | apsw.AuthError):
        existing = [place for place in places if place.exists()]
        return _can_access(path.parent, os.W_OK | os.X_OK) and all(
            _can_access(place, os.R_OK | os.W_OK) for place in existing
        )
    return True


def put_database_aside(path: Path) -> Path:
    """Rename an unusable database and its log, and return the new path; only the latest one is kept."""
    aside = _choose_free_path(path, path.with_name(f"{path.name}.old"))
    for ending in ("", *_COMPANION_SUFFIXES):
        source, goal = path.with_name(path.name + ending), aside.with_name(aside.name + ending)
        if os.path.lexists(source):
            source.replace(_choose_free_path(source, goal))
        elif not _is_not_regular_file(goal):
            goal.unlink(missing_ok=True)  # the log of another database must not be left beside this one
    return aside


def _choose_free_path(source: Path, wanted: Path) -> Path:
    """Find a name for `source`: a folder can't replace anything, and nothing can replace a folder."""
    number, goal = 1, wanted
    while _is_not_regular_file(goal) or (_is_not_regular_file(source) and os.path.lexists(goal)):
        number += 1
        goal = wanted.with_name(f"{wanted.name}.{number}")
    return goal


def check_log_places(path: Path) -> None:
    """Raise `CantOpenError` if a folder has the name of the log's `-shm` file: SQLite would open the database
    read-only.
    """
    if _is_not_regular_file(path.with_name(f"{path.name}-shm")):
        raise apsw.CantOpenError("unable to open database file")


def _can_access(path: Path, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _is_not_regular_file(path: Path) -> bool:
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False
