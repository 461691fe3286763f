"""Shows where time and work went, from the index: hours of the week, slow calls, long turns and busy files."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import apsw

from turnlog.session.call_times import get_longest_call_ms
from turnlog.session.calls import TOOL_FAMILIES
from turnlog.session.texts.texts import TEXT_KINDS
from turnlog.session.touched_files import PATH_FIELDS, READ_TOOLS
from turnlog.store.index.shards import list_text_runs
from turnlog.store.usage.usage_reports import UsageRequest, build_spend_filter, list_clock_stretches
from turnlog.store.usage.usage_slices import build_hour_scope, to_week_hour

_KIND_NAMES = list(TEXT_KINDS)
_PROMPT_KIND, _CALL_KIND = _KIND_NAMES.index("prompt"), _KIND_NAMES.index("call")
_WORK_KINDS = tuple(_KIND_NAMES.index(kind) for kind in ("prompt", "answer", "thinking", "call", "result"))
_WAITING_TOOLS = ("AskUserQuestion", "ExitPlanMode")
"""Calls that end when a person answers."""
_MAX_COPIES_PER_CALL = 4
"""The factor by which the query reads more rows, because forks contain copies of calls."""
_SLOWEST_QUERY = """
    SELECT call.id, file.id, session, name.text, call.started,
        (julianday(call.ended) - julianday(call.started)) * 86400.0 AS took, failed
    FROM call JOIN file ON file.id = call.file JOIN name ON name.id = call.tool
    WHERE call.started GLOB '[0-9][0-9][0-9][0-9]-*' AND took > 0 AND name.text NOT IN ({waiting})
        AND took <= {limit} {which}
    ORDER BY took DESC, file.started, file.id LIMIT ?
"""
_TURN_QUERY = """
    WITH numbered AS (
        SELECT text.file, text.offset, text.time, sum(text.kind = {prompt}) OVER (PARTITION BY text.file ORDER BY
            text.offset) AS turn FROM text JOIN file ON file.id = text.file AND file.kind = 'session'
        WHERE text.time > 0 AND text.kind IN ({work}) {which}
    )
    SELECT file, min(offset), min(time), max(time) - min(time) AS took FROM numbered WHERE turn > 0
    GROUP BY file, turn HAVING took > 0 ORDER BY took DESC LIMIT ?
"""
_FILE_QUERY = """
    SELECT call.path, count(DISTINCT call.id) AS calls,
        count(DISTINCT iif(name.text IN ({reads}), call.id, NULL)),
        count(DISTINCT file.session), count(DISTINCT iif(failed, call.id, NULL)), max(call.started)
    FROM call JOIN name ON name.id = call.tool JOIN file ON file.id = call.file
    WHERE call.path IS NOT NULL AND name.text IN ({tools}) {which}
    GROUP BY call.path ORDER BY calls DESC, call.path LIMIT ?
"""


def _build_limit() -> str:
    """Build the expression for the longest time, in seconds, that a call to a tool works: a longer one has waited."""
    tools = [tool for family in TOOL_FAMILIES.values() for tool in family]
    cases = " ".join(f"WHEN '{tool}' THEN {get_longest_call_ms(tool) / 1000}" for tool in tools)
    return f"CASE name.text {cases} ELSE {get_longest_call_ms('') / 1000} END"


class SlowCall(NamedTuple):
    session: int
    file: int
    offset: int | None
    """The offset of the call's line, if it is in the index."""
    tool: str
    started: str
    seconds: float
    failed: bool


class LongTurn(NamedTuple):
    session: int
    file: int
    offset: int
    """The offset of the prompt."""
    started: int
    """Seconds since 1970."""
    seconds: int


class BusyFile(NamedTuple):
    """A file that was named in many calls."""

    path: str
    calls: int
    reads: int
    sessions: int
    failed: int
    last: str | None

    @property
    def changes(self) -> int:
        """The number of calls that wrote to the file or tried to."""
        return self.calls - self.reads


def count_messages_by_hour(db: apsw.Connection, request: UsageRequest) -> list[list[int]]:
    """Count messages by day of the week (from Monday) and hour of the day, in the request's time zone."""
    wanted = build_hour_scope(db, request)
    counts = [[0] * 24 for _ in range(7)]
    stretches = list_clock_stretches(db, request.zone)
    for hour, messages in db.execute(f"SELECT hour, sum(messages) {wanted.sql} GROUP BY hour", wanted.values):
        day, hour_of_day = to_week_hour(hour, stretches)
        counts[day][hour_of_day] += messages
    return counts


def list_slowest_calls(db: apsw.Connection, request: UsageRequest, most: int = 15) -> list[SlowCall]:
    """List the calls that took longest from their line to their result, except those that ask the user."""
    which, values = _build_file_condition(db, request)
    which += "".join(f" AND call.started {sign} '{text}'" for sign, text in _iter_client_time_bounds(request))
    query = _SLOWEST_QUERY.format(waiting=_quote_sql_list(_WAITING_TOOLS), limit=_build_limit(), which=which)
    slowest: dict[str, SlowCall] = {}
    rows: list[Any] = db.execute(query, (*values, most * _MAX_COPIES_PER_CALL)).fetchall()
    for key, file, session, tool, started, took, failed in rows:
        if key not in slowest and len(slowest) < most:
            slowest[key] = SlowCall(
                session, file, _find_call_offset(db, file, started), tool, started, took, bool(failed)
            )
    return list(slowest.values())


def list_longest_turns(db: apsw.Connection, request: UsageRequest, most: int = 15) -> list[LongTurn]:
    """List the turns that took longest from their prompt to the last text before the next prompt."""
    which, values = _build_file_condition(db, request)
    which += "".join(f" AND text.time {sign} {seconds}" for sign, seconds in _iter_second_bounds(request))
    query = _TURN_QUERY.format(prompt=_PROMPT_KIND, work=", ".join(map(str, _WORK_KINDS)), which=which)
    rows: list[Any] = db.execute(query, (*values, most)).fetchall()
    return [LongTurn(_find_session_number(db, file), file, offset, time, took) for file, offset, time, took in rows]


def list_busiest_files(db: apsw.Connection, request: UsageRequest, most: int = 20) -> list[BusyFile]:
    """List the files that were named in the most calls."""
    which, values = _build_file_condition(db, request)
    which += "".join(f" AND call.started {sign} '{text}'" for sign, text in _iter_client_time_bounds(request))
    query = _FILE_QUERY.format(
        reads=_quote_sql_list(sorted(READ_TOOLS)), tools=_quote_sql_list(PATH_FIELDS), which=which
    )
    return [BusyFile(*row) for row in db.execute(query, (*values, most))]


def _build_file_condition(db: apsw.Connection, request: UsageRequest) -> tuple[str, tuple[Any, ...]]:
    """Build the condition that selects a project's files; the request's model is ignored, because files have none."""
    wanted = build_spend_filter(db, request._replace(model=None))
    if not wanted.conditions:
        return "", ()
    return f"AND file.{' AND file.'.join(wanted.conditions)}", wanted.values


def _iter_second_bounds(request: UsageRequest) -> Iterator[tuple[str, int]]:
    if request.since is not None:
        yield ">=", request.zone.find_day_start(request.since)
    if request.until is not None:
        yield "<", request.zone.find_day_start(_get_next_day(request.until))


def _iter_client_time_bounds(request: UsageRequest) -> Iterator[tuple[str, str]]:
    """Yield the bounds in the UTC format that Claude Code writes, in which times sort as text."""
    for sign, seconds in _iter_second_bounds(request):
        yield sign, datetime.fromtimestamp(max(seconds, 0), UTC).isoformat()[:19]


def _get_next_day(day: date) -> date:
    return date.fromordinal(min(day.toordinal() + 1, date.max.toordinal()))


def _find_session_number(db: apsw.Connection, file: int) -> int:
    (number,) = db.execute("SELECT session FROM file WHERE id = ?", (file,)).fetchone() or (0,)
    return int(number)


def _find_call_offset(db: apsw.Connection, file: int, started: str) -> int | None:
    """Find the offset of a call; the index stores times only to the second."""
    query = "SELECT offset FROM text WHERE id BETWEEN ? AND ? AND kind = ? AND time = unixepoch(?) LIMIT 1"
    found = (db.execute(query, (*run, _CALL_KIND, started)).fetchone() for run in list_text_runs(db, file))
    return next((int(row[0]) for row in found if row), None)


def _quote_sql_list(names: Any) -> str:
    return ", ".join("'" + name.replace("'", "''") + "'" for name in names)
