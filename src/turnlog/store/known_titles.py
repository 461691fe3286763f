"""Looks up session titles in the index, for lists that would otherwise read whole files.

Only titles that the index read from a file in its current state are used. If the index is missing, busy, damaged or
from a different version, the files are read instead.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import apsw

from turnlog.entries.layout import SessionFile
from turnlog.entries.titles import SessionTitles
from turnlog.session.session_lookup import KnownTitles
from turnlog.store.store import INDEX_VERSION

_TITLE_FIELDS = SessionTitles.__struct_fields__
_TITLE_QUERY = f"""
    SELECT path, size, mtime_ns, {", ".join(_TITLE_FIELDS)} FROM file
    WHERE path IN (SELECT value FROM json_each(?)) AND offset = size AND gone IS NULL
"""


def build_title_lookup(index: Path) -> KnownTitles:
    """Return a lookup function for session titles that opens the index when it is first called."""
    return partial(_read_known_titles, index)


def _read_known_titles(index: Path, files: Sequence[SessionFile]) -> Mapping[str, SessionTitles]:
    if not index.exists():
        return {}
    try:
        db = apsw.Connection(str(index), apsw.SQLITE_OPEN_READONLY)
        try:
            return _select_fresh_titles(db, files) if db.pragma("user_version") == INDEX_VERSION else {}
        finally:
            db.close()
    except (apsw.Error, UnicodeEncodeError):
        return {}


def _select_fresh_titles(db: apsw.Connection, files: Sequence[SessionFile]) -> Mapping[str, SessionTitles]:
    states = {item.file: (item.size, item.mtime_ns) for item in files}
    rows = db.execute(_TITLE_QUERY, (json.dumps(list(states)),))
    return {path: SessionTitles(*names) for path, size, mtime_ns, *names in rows if states[path] == (size, mtime_ns)}
