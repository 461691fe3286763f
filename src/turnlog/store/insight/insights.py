"""Where time and work went, out of the index: hours of the week, slow calls, long turns, busy files."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import apsw

from turnlog.session.files.files import PATH_FIELDS, READS
from turnlog.session.texts.texts import KINDS
from turnlog.store.usage.reports import Request, clocks, filters
from turnlog.store.usage.zones import Zone

_KINDS = list(KINDS)
_PROMPT, _CALL = _KINDS.index("prompt"), _KINDS.index("call")
_WORK = tuple(_KINDS.index(kind) for kind in ("prompt", "answer", "thinking", "call", "result"))
_WAITING = ("AskUserQuestion", "ExitPlanMode")
"""Calls that end when a person answers."""
_COPIES = 4
"""Forks hold copies of calls; so many times as many rows are looked at."""
_SLOWEST = """
    SELECT call.id, file.id, session, name.text, call.started,
        (julianday(call.ended) - julianday(call.started)) * 86400.0 AS took, failed
    FROM call JOIN file ON file.id = call.file JOIN name ON name.id = call.tool
    WHERE call.started GLOB '[0-9][0-9][0-9][0-9]-*' AND took > 0 AND name.text NOT IN ({waiting}) {which}
    ORDER BY took DESC, file.started, file.id LIMIT ?
"""
_TURNS = """
    WITH numbered AS (
        SELECT text.file, text.offset, text.time, sum(text.kind = {prompt}) OVER (PARTITION BY text.file ORDER BY
            text.offset) AS turn FROM text JOIN file ON file.id = text.file AND file.kind = 'session'
        WHERE text.time > 0 AND text.kind IN ({work}) {which}
    )
    SELECT file, min(offset), min(time), max(time) - min(time) AS took FROM numbered WHERE turn > 0
    GROUP BY file, turn HAVING took > 0 ORDER BY took DESC LIMIT ?
"""
_FILES = """
    SELECT call.path, count(DISTINCT call.id) AS calls,
        count(DISTINCT iif(name.text IN ({reads}), call.id, NULL)),
        count(DISTINCT file.session), count(DISTINCT iif(failed, call.id, NULL)), max(call.started)
    FROM call JOIN name ON name.id = call.tool JOIN file ON file.id = call.file
    WHERE call.path IS NOT NULL AND name.text IN ({tools}) {which}
    GROUP BY call.path ORDER BY calls DESC, call.path LIMIT ?
"""


class SlowCall(NamedTuple):
    """A call that took long."""

    session: int
    file: int
    offset: int | None
    """Of its line, where the index knows it."""
    tool: str
    started: str
    seconds: float
    failed: bool


class LongTurn(NamedTuple):
    """A turn that took long."""

    session: int
    file: int
    offset: int
    """Of its prompt."""
    started: int
    """Seconds since 1970."""
    seconds: int


class BusyFile(NamedTuple):
    """A file that calls named often."""

    path: str
    calls: int
    reads: int
    sessions: int
    failed: int
    last: str | None

    @property
    def changes(self) -> int:
        """Calls that wrote to it, or tried to."""
        return self.calls - self.reads


def by_hour(db: apsw.Connection, request: Request) -> list[list[int]]:
    """Messages by day of the week (from Monday) and hour of the day, where clocks stand as in the request's zone."""
    wanted = filters(db, request).also("hour >= 0")
    for bound, sign in ((request.since, ">="), (request.until, "<")):
        if bound is not None:
            wanted = wanted.also(f"hour {sign} ?", _hour(request.zone, bound, later=sign == "<"))
    found = [[0] * 24 for _ in range(7)]
    stretches = clocks(db, request.zone)
    for hour, messages in db.execute(f"SELECT hour, sum(messages) {wanted.sql} GROUP BY hour", wanted.values):
        ahead = next((item.offset for item in reversed(stretches) if item.hour <= hour), stretches[0].offset)
        local = hour + ahead // 3600
        # The first of January 1970 was a Thursday.
        found[(local // 24 + 3) % 7][local % 24] += messages
    return found


def slowest(db: apsw.Connection, request: Request, most: int = 15) -> list[SlowCall]:
    """The calls that took longest from their line to their result, but for those that ask a person."""
    which, values = _of_files(db, request)
    which += "".join(f" AND call.started {sign} '{text}'" for sign, text in _written(request))
    query = _SLOWEST.format(waiting=_listed(_WAITING), which=which)
    found: dict[str, SlowCall] = {}
    rows: list[Any] = db.execute(query, (*values, most * _COPIES)).fetchall()
    for key, file, session, tool, started, took, failed in rows:
        if key not in found and len(found) < most:
            found[key] = SlowCall(session, file, _offset(db, file, started), tool, started, took, bool(failed))
    return list(found.values())


def longest(db: apsw.Connection, request: Request, most: int = 15) -> list[LongTurn]:
    """The turns with the longest time from their prompt to the last text before the next one."""
    which, values = _of_files(db, request)
    which += "".join(f" AND text.time {sign} {seconds}" for sign, seconds in _seconds(request))
    query = _TURNS.format(prompt=_PROMPT, work=", ".join(map(str, _WORK)), which=which)
    rows: list[Any] = db.execute(query, (*values, most)).fetchall()
    return [LongTurn(_session(db, file), file, offset, time, took) for file, offset, time, took in rows]


def busiest(db: apsw.Connection, request: Request, most: int = 20) -> list[BusyFile]:
    """The files that most calls named."""
    which, values = _of_files(db, request)
    which += "".join(f" AND call.started {sign} '{text}'" for sign, text in _written(request))
    query = _FILES.format(reads=_listed(sorted(READS)), tools=_listed(PATH_FIELDS), which=which)
    return [BusyFile(*row) for row in db.execute(query, (*values, most))]


def _of_files(db: apsw.Connection, request: Request) -> tuple[str, tuple[Any, ...]]:
    """The files of a project; models have none."""
    wanted = filters(db, request._replace(model=None))
    if not wanted.conditions:
        return "", ()
    return f"AND file.{' AND file.'.join(wanted.conditions)}", wanted.values


def _seconds(request: Request) -> Iterator[tuple[str, int]]:
    if request.since is not None:
        yield ">=", request.zone.begins(request.since)
    if request.until is not None:
        yield "<", request.zone.begins(_next(request.until))


def _written(request: Request) -> Iterator[tuple[str, str]]:
    """The bounds as the client writes times, in UTC, which sort as they are."""
    for sign, seconds in _seconds(request):
        yield sign, datetime.fromtimestamp(max(seconds, 0), UTC).isoformat()[:19]


def _hour(zone: Zone, day: date, *, later: bool) -> int:
    return zone.begins(_next(day) if later else day) // 3600


def _next(day: date) -> date:
    return date.fromordinal(min(day.toordinal() + 1, date.max.toordinal()))


def _session(db: apsw.Connection, file: int) -> int:
    (number,) = db.execute("SELECT session FROM file WHERE id = ?", (file,)).fetchone() or (0,)
    return int(number)


def _offset(db: apsw.Connection, file: int, started: str) -> int | None:
    """Where a call stands: the index knows texts by the second only."""
    query = "SELECT offset FROM text WHERE file = ? AND kind = ? AND time = unixepoch(?) LIMIT 1"
    row = db.execute(query, (file, _CALL, started)).fetchone()
    return int(row[0]) if row else None


def _listed(names: Any) -> str:
    return ", ".join("'" + name.replace("'", "''") + "'" for name in names)
