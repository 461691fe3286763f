"""Which files a scan looks through, and which of the texts that it finds the filters of a query let through."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import apsw

from turnlog.session.texts.texts import KINDS
from turnlog.store.scope import projects, sessions
from turnlog.store.search.match import Plan
from turnlog.store.search.query import Query
from turnlog.store.search.scan import Report, Sighting, Target
from turnlog.store.search.search import Group, Hit
from turnlog.store.search.syntax import Filter

_KINDS = list(KINDS)
_BY_FILE = ("project", "session")


def targets(db: apsw.Connection, query: Query | None) -> list[Target]:
    """The files of the projects and sessions that a query names, newest first; without one, all."""
    rows: list[Any] = db.execute(
        "SELECT file.id, path, kind = 'output', size, gone IS NOT NULL, session, project"
        " FROM file JOIN session ON session.id = session ORDER BY mtime_ns DESC, file.id DESC"
    ).fetchall()
    for given in query.root.items if query else ():
        if isinstance(given, Filter) and given.name in _BY_FILE:
            wanted = _numbers(db, given)
            rows = [row for row in rows if row[6 if given.name == "project" else 5] in wanted]
    return [Target(file, path, bool(plain), size, bool(gone)) for file, path, plain, size, gone, _, _ in rows]


def _numbers(db: apsw.Connection, given: Filter) -> set[int]:
    find = projects if given.name == "project" else sessions
    return {number for value in given.values for number in find(db, value.text).ids}


def is_by_text(query: Query | None) -> bool:
    """Whether a query has filters that single texts must pass, not only whole files."""
    return any(not (isinstance(item, Filter) and item.name in _BY_FILE) for item in (query.root.items if query else ()))


class Known(NamedTuple):
    """What the index knows of a text that a scan found."""

    id: int
    time: int


class Sieve:
    """Finds the texts of a scan in the index, and lets those through that fit a plan."""

    def __init__(self, db: apsw.Connection, plan: Plan | None) -> None:
        self._db = db
        self._plan = plan

    def sifted(self, report: Report) -> Report:
        """What of a file fits."""
        if self._plan is None:
            return report
        known = self.known(report.file)
        fitting = self._fitting(known.values())
        kept = [item for item in report.sightings if (row := known.get(_key(item))) and row.id in fitting]
        return Report(report.file, len(kept), kept, report.size)

    def known(self, file: int) -> dict[tuple[int, str], Known]:
        """The texts of a file by offset and kind."""
        rows: list[Any] = self._db.execute("SELECT offset, kind, id, time FROM text WHERE file = ?", (file,)).fetchall()
        return {(offset, _KINDS[kind]): Known(number, time) for offset, kind, number, time in rows}

    def _fitting(self, texts: Iterable[Known]) -> set[int]:
        assert self._plan is not None
        times = {text.id: text.time for text in texts}
        if not times:
            return set()
        span = min(times), max(times)
        found: set[int] = set()
        for table in ("said", "done"):
            query = f"SELECT rowid FROM {table} WHERE {table} MATCH ? AND rowid BETWEEN ? AND ?"
            found.update(number for (number,) in self._db.execute(query, (self._plan.expression, *span)))
        return {number for number in found if number in times and self._plan.holds(times[number])}


def _key(item: Sighting) -> tuple[int, str]:
    return item.offset, item.kind


def grouped(db: apsw.Connection, reports: Sequence[Report], sieve: Sieve, limit: int, hits: int) -> list[Group]:
    """What a scan found as the groups of a search: by session, in the order of the files."""
    by_session: dict[int, list[Report]] = {}
    for report in reports:
        (session,) = db.execute("SELECT session FROM file WHERE id = ?", (report.file,)).fetchone() or (0,)
        by_session.setdefault(session, []).append(report)
    return [_group(session, found, sieve, hits) for session, found in list(by_session.items())[:limit]]


def _group(session: int, reports: Sequence[Report], sieve: Sieve, most: int) -> Group:
    shown: dict[str, Hit] = {}
    newest = 0
    for report in reports:
        known = sieve.known(report.file)
        for item in report.sightings:
            row = known.get(_key(item), Known(0, 0))
            newest = max(newest, row.time)
            if len(shown) < most:
                hit = Hit(row.id, item.file, item.offset, item.kind, row.time, item.snippet)
                shown.setdefault(item.snippet.text, hit)
    total = sum(report.total for report in reports)
    return Group(session, total, newest, 0.0, [], tuple(shown.values()))
