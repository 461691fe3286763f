"""Sessions that lie in turnlog's trash: whoever put them there is not shown them, but told of them.

The index still knows their texts. Which sessions these are is seen from the trash itself, as docs/manage.md describes
it: a session is in it if its file lies there and not at its own place.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import apsw

from turnlog.store.search.match_expression import restrict_to_sessions

_TRASH_ENTRY_NAME = re.compile(r"\d{8}T[\d.]+Z-(?P<session>.+)")
_MAX_SESSIONS_PER_QUERY = 400
"""More sessions make an expression that is slow."""


class TrashedSessions(NamedTuple):
    """What of an index lies in the trash."""

    sessions: dict[int, str]
    """Their ids, by number."""
    files: dict[int, int]
    """The sessions of their files, both by number."""

    @property
    def sql_bound(self) -> str:
        """What keeps texts of these sessions out of a query of the table `text`."""
        return f" AND file NOT IN ({', '.join(map(str, self.files))})" if self.files else ""

    def build_left_out(self, numbers: Iterable[int], hits: int | None) -> LeftOutHits:
        """Tell of some of these sessions."""
        return LeftOutHits(tuple(sorted({self.sessions[number] for number in numbers})), hits)


class LeftOutHits(NamedTuple):
    """What a search did not show, because it lies in the trash."""

    sessions: tuple[str, ...] = ()
    """Their ids."""
    hits: int | None = 0
    """None where the files would have had to be read."""

    @property
    def words(self) -> str:
        """What that is, in words."""
        sessions = f"{len(self.sessions):,} session{'' if len(self.sessions) == 1 else 's'}"
        hits = "" if self.hits is None else f"{self.hits:,} hit{'' if self.hits == 1 else 's'} in "
        return f"Left out: {hits}{sessions} in turnlog's trash"

    @property
    def remedy(self) -> tuple[str, str]:
        """The command that helps, and what it does."""
        if len(self.sessions) == 1:
            return f"turnlog undelete {self.sessions[0][:8]}", "brings it back"
        return "turnlog undelete --list", "lists them"


NOTHING_TRASHED = TrashedSessions({}, {})


def find_trashed_sessions(db: apsw.Connection, data_dir: Path) -> TrashedSessions:
    """What of an index lies in the trash of a data folder."""
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
    """The folders in the trash, by session."""
    found: dict[str, list[Path]] = {}
    try:
        names = os.listdir(trash)  # noqa: PTH208 - before every search
    except OSError:
        return found
    for name in names:
        if entry := _TRASH_ENTRY_NAME.fullmatch(name):
            found.setdefault(entry["session"], []).append(trash / name)
    return found


def _is_in_trash(entries: Iterable[Path], path: str) -> bool:
    place = PurePath("files", *PurePath(path).parts[-3:])  # projects, the project, the file
    return not os.path.lexists(path) and any(os.path.lexists(entry / place) for entry in entries)


def count_left_out(db: apsw.Connection, trash: TrashedSessions, expression: str, bounds: str) -> LeftOutHits:
    """The texts in the trash that fit an expression, and bounds of their time."""
    found: dict[int, int] = {}
    numbers = list(trash.sessions)
    for start in range(0, len(numbers), _MAX_SESSIONS_PER_QUERY):
        wanted = restrict_to_sessions(expression, numbers[start : start + _MAX_SESSIONS_PER_QUERY])
        for table in ("said", "done"):
            rows: list[Any] = db.execute(
                f"SELECT file, count(*) FROM {table} CROSS JOIN text ON text.id = {table}.rowid"
                f" WHERE {table} MATCH ?{bounds} GROUP BY file",
                (wanted,),
            ).fetchall()
            for file, count in rows:
                session = trash.files[file]
                found[session] = found.get(session, 0) + count
    return trash.build_left_out(found, sum(found.values()))
