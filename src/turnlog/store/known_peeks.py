"""Describes sessions from the index, for lists that would otherwise read every file.

Only rows that the index read from a file in its current state are used. If the index is missing, busy, damaged or from
a different version, the files are read instead.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import apsw

from turnlog.entries.layout import SessionFile
from turnlog.entries.peek import Peek
from turnlog.entries.titles import SessionTitles
from turnlog.session.session_lookup import KnownPeeks
from turnlog.store.index_file_name import INDEX_VERSION

_TITLE_FIELDS = SessionTitles.__struct_fields__
_PEEK_QUERY = f"""
    SELECT path, size, mtime_ns, cwd, last_cwd, version, started, ended, git_branch, {", ".join(_TITLE_FIELDS)}
    FROM file WHERE offset = size AND gone IS NULL AND is_session
"""
_MAX_NAMED_PATHS = 1_000
"""The most files to look up by path; for more, reading all rows is faster."""


def build_peek_lookup(index: Path) -> KnownPeeks:
    """Return a function that describes sessions from the index, which it opens when it is first called."""
    return partial(_read_known_peeks, index)


def _read_known_peeks(index: Path, files: Sequence[SessionFile]) -> Mapping[str, Peek]:
    if not index.exists():
        return {}
    try:
        db = apsw.Connection(str(index), apsw.SQLITE_OPEN_READONLY)
        try:
            return _select_fresh_peeks(db, files) if db.pragma("user_version") == INDEX_VERSION else {}
        finally:
            db.close()
    except (apsw.Error, UnicodeEncodeError):
        return {}


def _select_fresh_peeks(db: apsw.Connection, files: Sequence[SessionFile]) -> Mapping[str, Peek]:
    states = {item.file: (item.size, item.mtime_ns) for item in files}
    rows = (
        db.execute(_PEEK_QUERY)
        if len(files) > _MAX_NAMED_PATHS
        else db.execute(f"{_PEEK_QUERY} AND path IN (SELECT value FROM json_each(?))", (json.dumps(list(states)),))
    )
    return {
        path: Peek(
            cwd=cwd,
            last_cwd=last_cwd,
            last_version=version,
            started=started,
            ended=ended,
            git_branch=branch,
            titles=SessionTitles(*titles),
        )
        for path, size, mtime_ns, cwd, last_cwd, version, started, ended, branch, *titles in rows
        if states.get(path) == (size, mtime_ns)
    }
