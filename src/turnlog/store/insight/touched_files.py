"""Files by path across many sessions, from the index: which sessions read and changed them, when and how often."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import apsw
from msgspec import Struct

from turnlog.session.touched_files import PATH_FIELDS, READ_TOOLS

_WRITE_TOOLS = frozenset({"Write"})
# A call that several files contain counts once, for the session that has it first.
_TOUCH_QUERY = """
SELECT call.id, call.path, name.text, session.uuid, call.started, call.failed IS NOT NULL, call.failed
FROM call
JOIN name ON name.id = call.tool
JOIN file ON file.id = call.file
JOIN session ON session.id = file.session
WHERE call.path IS NOT NULL AND name.text IN (SELECT value FROM json_each(?1))
  AND (?2 IS NULL OR session.id IN (SELECT value FROM json_each(?2)))
ORDER BY call.id, file.started IS NULL, file.started, file.id
"""
_SESSION_QUERY = """
SELECT main.path, max(call.started) AS last
FROM call
JOIN name ON name.id = call.tool
JOIN file ON file.id = call.file
JOIN file AS main ON main.session = file.session AND main.kind = 'session' AND main.gone IS NULL
WHERE name.text IN (SELECT value FROM json_each(?1)) AND call.path IS NOT NULL
  AND (call.path = ?2 OR '/' || replace(call.path, '\\', '/') LIKE ?3 ESCAPE '!')
GROUP BY main.path ORDER BY last DESC
"""


class IndexedFile(Struct):
    """A file and what sessions did with it."""

    path: str
    reads: int = 0
    writes: int = 0
    edits: int = 0
    failures: int = 0
    """Calls that failed, were denied or interrupted, or were never answered."""
    first: str | None = None
    last: str | None = None
    sessions: dict[str, int] = {}
    """How many calls each session made, by session id, starting with the first session."""


class TouchingSession(NamedTuple):
    path: str
    last: str | None


class _TouchCall(NamedTuple):
    id: str
    path: str
    tool: str
    session: str
    started: str | None
    answered: bool
    failed: bool | None


def list_indexed_files(db: apsw.Connection, sessions: Collection[int] | None = None) -> list[IndexedFile]:
    """List the files that some or all sessions have read and written, by path."""
    rows = db.execute(_TOUCH_QUERY, (_encode_names(PATH_FIELDS), None if sessions is None else str(list(sessions))))
    calls = [
        _merge_call_copies(list(copies)) for _, copies in groupby(map(_TouchCall._make, rows), key=attrgetter("id"))
    ]
    files: dict[str, IndexedFile] = {}
    for call in sorted(calls, key=lambda call: call.started or ""):
        _count_call(files.setdefault(call.path, IndexedFile(call.path, sessions={})), call)
    return sorted(files.values(), key=lambda item: item.path)


def _merge_call_copies(copies: list[_TouchCall]) -> _TouchCall:
    """Merge the copies of a call into the first one, which is answered if any file has the answer."""
    answered = [copy for copy in copies if copy.answered]
    return copies[0]._replace(answered=bool(answered), failed=any(copy.failed for copy in answered))


def _count_call(item: IndexedFile, call: _TouchCall) -> None:
    item.first, item.last = item.first or call.started, call.started or item.last
    item.sessions[call.session] = item.sessions.get(call.session, 0) + 1
    if call.failed or not call.answered:
        item.failures += 1
    elif call.tool in READ_TOOLS:
        item.reads += 1
    elif call.tool in _WRITE_TOOLS:
        item.writes += 1
    else:
        item.edits += 1


def find_touching_sessions(db: apsw.Connection, name: str) -> list[TouchingSession]:
    """Find the sessions whose calls named a file by this path or by a path that ends with it, newest first."""
    end = name.replace("\\", "/").removeprefix("./").strip("/")
    pattern = "%/" + end.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return [TouchingSession(*row) for row in db.execute(_SESSION_QUERY, (_encode_names(PATH_FIELDS), name, pattern))]


def _encode_names(names: Iterable[str]) -> str:
    return json.dumps(list(names))
