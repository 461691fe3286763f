"""Telling a damaged database from one that can't be used at this moment, and putting a damaged one aside.

SQLite reports damage in many ways: "malformed", "not a database", "unsupported file format", a file that claims to be
read-only, a folder where a file should be. A lock, a full disk or missing rights are no damage: whatever is put aside
then was healthy.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import apsw

DAMAGE_ERRORS = (apsw.CorruptError, apsw.NotADBError)
"""What is raised where a file holds what no database holds."""
_PASSING_ERRORS = (apsw.BusyError, apsw.LockedError, apsw.FullError, apsw.NoMemError, apsw.InterruptError)
_COMPANION_SUFFIXES = ("-wal", "-shm", "-journal")


def is_database_damage(error: apsw.Error, path: Path) -> bool:
    """Whether a database could not be opened because it is damaged; the connection must be closed."""
    if isinstance(error, _PASSING_ERRORS):
        return False
    places = [path, *(path.with_name(path.name + ending) for ending in _COMPANION_SUFFIXES)]
    if isinstance(error, apsw.CantOpenError | apsw.IOError):
        # On a full disk, or without free file descriptors, a sound database can't be opened either.
        return any(map(_is_not_regular_file, places))
    if isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError | apsw.AuthError):
        there = [place for place in places if place.exists()]
        return _can_access(path.parent, os.W_OK | os.X_OK) and all(
            _can_access(place, os.R_OK | os.W_OK) for place in there
        )
    return True


def put_database_aside(path: Path) -> Path:
    """Rename a database that can't be used, with its log; gives its new name. One of them is kept."""
    aside = _choose_free_path(path, path.with_name(f"{path.name}.old"))
    for ending in ("", *_COMPANION_SUFFIXES):
        source, goal = path.with_name(path.name + ending), aside.with_name(aside.name + ending)
        if os.path.lexists(source):
            source.replace(_choose_free_path(source, goal))
        elif not _is_not_regular_file(goal):
            goal.unlink(missing_ok=True)  # the log of another database must not stay beside this one
    return aside


def _choose_free_path(source: Path, wanted: Path) -> Path:
    """A name that a file can be given: a folder replaces nothing, and nothing replaces a folder."""
    number, goal = 1, wanted
    while _is_not_regular_file(goal) or (_is_not_regular_file(source) and os.path.lexists(goal)):
        number += 1
        goal = wanted.with_name(f"{wanted.name}.{number}")
    return goal


def check_log_places(path: Path) -> None:
    """Raise `CantOpenError` where a folder has the name of the log's map: SQLite would open it read-only."""
    if _is_not_regular_file(path.with_name(f"{path.name}-shm")):
        raise apsw.CantOpenError("unable to open database file")


def _can_access(path: Path, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _is_not_regular_file(path: Path) -> bool:
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False
