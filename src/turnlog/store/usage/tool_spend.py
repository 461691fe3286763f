"""Usage by tool: what a message cost is divided equally among the calls that it makes.

Files do not record which message a call belongs to in the index; the call's time is within the message's, in the same
file. The rows divide those of `spend`: the rows of an hour, session and model add up to its row.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.store.index.spend_table import iter_divided_spend
from turnlog.store.project_folders import load_session_folders
from turnlog.store.usage.time_zones import format_day
from turnlog.store.usage.usage_reports import UsageRequest, list_clock_stretches
from turnlog.store.usage.usage_series import UsagePoint
from turnlog.store.usage.usage_slices import (
    UNKNOWN_MODEL,
    SliceSum,
    UsageSlice,
    build_hour_scope,
    build_model_scope,
    sum_rows_by_session,
    to_local_hour,
)
from turnlog.store.usage.usage_sums import UsageSum

if TYPE_CHECKING:
    import apsw

NO_TOOL = "no tool"
"""The name of the share of messages without a call."""
_MAX_STEPS_BACK = 50
"""How many messages that began later are searched through for one that has not ended at a call."""
ToolMix = tuple[tuple[str, int], ...]
"""The tools that a message calls, each with its number of calls."""


class ToolSpendRow(NamedTuple):
    hour: int
    session: int
    model: int | None
    tool: str
    cost: float
    """In pico dollars."""
    tokens: float
    messages: float


def list_tool_spend(db: apsw.Connection) -> list[ToolSpendRow]:
    """Divide all usage by tool."""
    mixes = _load_tool_mixes(db)
    sums: dict[tuple[Any, Any, int | None, str], list[float]] = {}
    for mix, (hour, session, model, *columns) in iter_divided_spend(db, lambda file, key: mixes.get((file, key), ())):
        usage = UsageSum._make(columns)
        calls = sum(count for _, count in mix)
        for tool, count in mix or ((NO_TOOL, 1),):
            share = count / calls if calls else 1
            row = sums.setdefault((hour, session, model, tool), [0, 0, 0])
            for place, amount in enumerate((usage.cost, usage.tokens, usage.messages)):
                row[place] += amount * share
    return [ToolSpendRow(*key, *amounts) for key, amounts in sums.items()]


def list_tool_points(db: apsw.Connection, rows: list[ToolSpendRow], request: UsageRequest) -> list[UsagePoint]:
    """List the usage of a request by day, session, model and tool; rows whose time is unknown are left out."""
    scope = build_hour_scope(db, request)
    wanted = set(db.execute(f"SELECT DISTINCT hour, session, model {scope.sql}", scope.values))
    names = dict(db.execute("SELECT id, text FROM name WHERE kind = 'model'"))
    folders, stretches = load_session_folders(db), list_clock_stretches(db, request.zone)
    return [
        UsagePoint(
            format_day(to_local_hour(row.hour, stretches) // 24),
            row.session,
            str(folders.get(row.session)),
            names.get(row.model) or UNKNOWN_MODEL,
            row.cost,
            row.tokens,
            row.messages,
            row.tool,
        )
        for row in rows
        if row[:3] in wanted
    ]


def sum_tool_slice_by_session(
    db: apsw.Connection, wanted: UsageSlice, tool_spend: Iterable[ToolSpendRow]
) -> dict[int, SliceSum]:
    """Add up the part of a slice that a tool has, for each session that has any."""
    stretches = list_clock_stretches(db, wanted.request.zone)
    scope = build_model_scope(build_hour_scope(db, wanted.request), wanted.model)
    keys = set(db.execute(f"SELECT DISTINCT hour, session, model {scope.sql}", scope.values))
    rows = (
        (row.hour, row.session, row.cost, row.tokens, row.messages)
        for row in tool_spend
        if row.tool == wanted.tool and row[:3] in keys
    )
    return sum_rows_by_session(db, wanted, stretches, rows)


def _load_tool_mixes(db: apsw.Connection) -> dict[tuple[int, str], ToolMix]:
    """Find the tools that each message calls, by file and key."""
    calls: dict[int, list[tuple[str, str]]] = defaultdict(list)
    query = "SELECT file, started, text FROM call JOIN name ON name.id = tool WHERE started IS NOT NULL"
    for file, started, tool in db.execute(query):
        calls[file].append((started, tool))
    mixes: dict[tuple[int, str], ToolMix] = {}
    answers = db.execute("SELECT file, key, first, last FROM answer ORDER BY file, first")
    for file, rows in groupby(answers, key=lambda row: row[0]):
        if file in calls:
            found = _match_calls([row[1:] for row in rows], calls[file])
            mixes.update({(file, key): tuple(sorted(counts.items())) for key, counts in found})
    return mixes


def _match_calls(
    answers: list[tuple[str, str, str]], calls: list[tuple[str, str]]
) -> Iterator[tuple[str, Counter[str]]]:
    """Yield the messages that make calls; `answers` are sorted by their first time."""
    firsts = [first for _, first, _ in answers]
    found: dict[str, Counter[str]] = {}
    for started, tool in calls:
        place = bisect_right(firsts, started) - 1
        for at in range(place, max(place - _MAX_STEPS_BACK, -1), -1):
            key, _, last = answers[at]
            if started <= last:
                found.setdefault(key, Counter())[tool] += 1
                break
    yield from found.items()
