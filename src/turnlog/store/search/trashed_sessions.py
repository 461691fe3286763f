"""Sessions in turnlog's trash: a search mentions them but doesn't show them.

The index still contains their text. The contents of the trash, described in docs/manage.md, determine which sessions
these are: a session is in the trash if its file is there and not at its original path.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import apsw

from turnlog.store.index.shards import list_full_text_tables
from turnlog.store.search.match_expression import restrict_to_sessions

_TRASH_ENTRY_NAME = re.compile(r"\d{8}T[\d.]+Z-(?P<session>.+)")
_MAX_SESSIONS_PER_QUERY = 400
"""An expression with more sessions is slow."""


class TrashedSessions(NamedTuple):
    """The sessions in an index that are in the trash."""

    sessions: dict[int, str]
    """The session ids, by number."""
    files: dict[int, int]
    """The number of the session that each file belongs to, by the number of the file."""

    @property
    def sql_bound(self) -> str:
        """The SQL condition that excludes these sessions from a query on the `text` table."""
        return f" AND file NOT IN ({', '.join(map(str, self.files))})" if self.files else ""

    def build_left_out(self, numbers: Iterable[int], hits: int | None) -> LeftOutHits:
        """Describe the hits in the sessions with these numbers."""
        return LeftOutHits(tuple(sorted({self.sessions[number] for number in numbers})), hits)


class LeftOutHits(NamedTuple):
    """The hits that a search left out because their sessions are in the trash."""

    sessions: tuple[str, ...] = ()
    """The session ids."""
    hits: int | None = 0
    """None if counting them would require reading the files."""

    @property
    def words(self) -> str:
        """A sentence for the user."""
        sessions = f"{len(self.sessions):,} session{'' if len(self.sessions) == 1 else 's'}"
        hits = "" if self.hits is None else f"{self.hits:,} hit{'' if self.hits == 1 else 's'} in "
        return f"Left out: {hits}{sessions} in turnlog's trash"

    @property
    def remedy(self) -> tuple[str, str]:
        """A command that restores or lists the sessions, and its effect in words."""
        if len(self.sessions) == 1:
            return f"turnlog undelete {self.sessions[0][:8]}", "restores it"
        return "turnlog undelete --list", "lists them"


NOTHING_TRASHED = TrashedSessions({}, {})


def find_trashed_sessions(db: apsw.Connection, data_dir: Path) -> TrashedSessions:
    """Find the sessions in an index that are in the trash of a data folder."""
    entries = _list_trash_entries(data_dir / "trash")
    if not entries:
        return NOTHING_TRASHED
    query = (
        "SELECT session.id, uuid, path FROM session JOIN file ON file.session = session.id AND file.kind = 'session'"
        " WHERE uuid IN (SELECT value FROM json_each(?))"
    )
    rows: list[Any] = db.execute(query, (json.dumps(list(entries)),)).fetchall()
    sessions = {number: uuid for number, uuid, path in rows if _is_in_trash(entries[uuid], path)}
    files = "SELECT id, session FROM file WHERE session IN (SELECT value FROM json_each(?))"
    return TrashedSessions(sessions, dict(db.execute(files, (json.dumps(list(sessions)),))))


def _list_trash_entries(trash: Path) -> dict[str, list[Path]]:
    """List the folders in the trash, by session."""
    entries: dict[str, list[Path]] = {}
    try:
        names = os.listdir(trash)  # noqa: PTH208 - before every search
    except OSError:
        return entries
    for name in names:
        if match := _TRASH_ENTRY_NAME.fullmatch(name):
            entries.setdefault(match["session"], []).append(trash / name)
    return entries


def _is_in_trash(entries: Iterable[Path], path: str) -> bool:
    place = PurePath("files", *PurePath(path).parts[-3:])  # projects, the project, the file
    return not os.path.lexists(path) and any(os.path.lexists(entry / place) for entry in entries)


def count_left_out(db: apsw.Connection, trash: TrashedSessions, expression: str, bounds: str) -> LeftOutHits:
    """Count the texts in the trash that match an expression within time bounds."""
    counts: dict[int, int] = {}
    numbers = list(trash.sessions)
    for start in range(0, len(numbers), _MAX_SESSIONS_PER_QUERY):
        wanted = restrict_to_sessions(expression, numbers[start : start + _MAX_SESSIONS_PER_QUERY])
        for schema, table in list_full_text_tables(db):
            rows: list[Any] = db.execute(
                f"SELECT file, count(*) FROM {schema}.{table} CROSS JOIN {schema}.text ON text.id = {table}.rowid"
                f" WHERE {table} MATCH ?{bounds} GROUP BY file",
                (wanted,),
            ).fetchall()
            for file, count in rows:
                session = trash.files[file]
                counts[session] = counts.get(session, 0) + count
    return trash.build_left_out(counts, sum(counts.values()))
