"""Calls by tool across all sessions, from the index; each call is counted once, even if several files contain it."""

from __future__ import annotations

from collections.abc import Collection

import apsw

from turnlog.session.call_times import find_working_time, is_launch
from turnlog.session.tallies import ToolTally, sort_tallies

# A file may have been copied before the result arrived: a call is answered if any file has the answer.
_CALL_QUERY = """
SELECT name.text, count(*), sum(failed IS 1), sum(failed IS NULL), sum(given), sum(got)
FROM ({once}) JOIN name ON name.id = tool GROUP BY name.text
"""
_TIME_QUERY = """
SELECT name.text, (julianday(ended) - julianday(started)) * 86400000.0 AS took
FROM ({once}) JOIN name ON name.id = tool
WHERE started GLOB '[0-9][0-9][0-9][0-9]-*' AND ended GLOB '[0-9][0-9][0-9][0-9]-*' AND took >= -0.5
"""
_ONCE_QUERY = """
SELECT min(tool) AS tool, min(started) AS started, min(ended) AS ended, max(failed) AS failed,
       max(given) AS given, max(got) AS got
FROM (SELECT * FROM call {where}) GROUP BY id {having}
"""


def tally_tool_calls(
    db: apsw.Connection, sessions: Collection[int] | None = None, since: str | None = None
) -> list[ToolTally]:
    """Count the calls in some or all sessions by tool; `since` is a time in Claude Code's format."""
    once, values = _build_once_query(sessions, since)
    tallies: dict[str, ToolTally] = {}
    for name, calls, failed, unanswered, given, got in db.execute(_CALL_QUERY.format(once=once), values):
        tallies[name] = ToolTally(name, calls, failed, None, None, unanswered, [], given or 0, got or 0)
    for name, took in db.execute(_TIME_QUERY.format(once=once), values):
        time = find_working_time(name, float(max(round(took), 0)))
        if time is not None and not is_launch(name, time):
            tallies[name].times.append(time)
    return sort_tallies(tallies.values())


def _build_once_query(sessions: Collection[int] | None, since: str | None) -> tuple[str, tuple[str, ...]]:
    """Build the query for calls without their copies, and its parameters."""
    where = "file IN (SELECT id FROM file WHERE session IN (SELECT value FROM json_each(?)))"
    having = "min(started) >= ?"
    query = _ONCE_QUERY.format(
        where="" if sessions is None else f"WHERE {where}",
        having="" if since is None else f"HAVING {having}",
    )
    values = (None if sessions is None else str(list(sessions)), since)
    return query, tuple(value for value in values if value is not None)
