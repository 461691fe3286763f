"""Finds a parent for an entry that has lost its own: the one that the client most likely meant.

1. For a result, its call; for a further line of an answer, the line before it.
2. The parent that the newest client would find (rule 15 of docs/format.md), if there is one.
3. Otherwise, the entry that was written just before it.

The parent is never one of the entry's own descendants, a side chain, a progress report, or an entry that no client
reads.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise

from turnlog.edit.illnesses.illness import RepairCase
from turnlog.entries.entry import Entry
from turnlog.session.graph import GRAPH_TYPES, get_message_id

_PARENT_TYPES = GRAPH_TYPES - {"progress"}


class ParentFinder:
    """Finds parents for the entries of a session, and caches them."""

    def __init__(self, case: RepairCase) -> None:
        self._calls = {call.id: call.line for call in case.session.calls}
        self._bridged = {row.index: above for above, row in pairwise(case.view.chain) if row.parent < 0}
        self._entries, self._first = case.session.file.entries, case.session.file.by_uuid
        self._rows = [row for row in case.session.graph.rows if row.type in _PARENT_TYPES and not row.is_lost]
        time = case.view.rows.read_time_ms
        self._time = {row.index: moment for row in self._rows if (moment := time(row)) is not None}
        self._timed = sorted((moment, index) for index, moment in self._time.items())
        self._answers: dict[str, list[Entry]] = {}
        for row in self._rows:
            if identity := get_message_id(row):
                self._answers.setdefault(identity, []).append(row)
        self._assigned: dict[int, int] = {}
        self._may_turn = not case.session.file.is_in_order
        """Whether a parent may come after its child in the file, so that ancestors must be checked for a cycle."""

    def find_parent(self, row: Entry, since: int = 0) -> Entry | None:
        """Return the parent for an entry, at or after the index `since`, or None if there is none."""
        row = self._entries[self._first.get(row.uuid or "", row.index)]  # the entry's copies come after its children
        for home in self._list_candidates(row):
            if home.index >= since and home.uuid is not None and not self._is_below(home, row):
                self._assigned[row.index] = home.index
                self._may_turn = self._may_turn or home.index > row.index
                return home
        return None

    def _list_candidates(self, row: Entry) -> Iterator[Entry]:
        yield from self._list_own_candidates(row)
        if row.index in self._bridged:
            yield self._bridged[row.index]
        own = self._time.get(row.index)
        if own is not None:
            for _, index in reversed(self._timed[: bisect_right(self._timed, own, key=lambda item: item[0])]):
                if index < row.index:
                    yield self._entries[index]
        yield from reversed(self._rows[: bisect_left(self._rows, row.index, key=lambda other: other.index)])

    def _list_own_candidates(self, row: Entry) -> Iterator[Entry]:
        """Yield the call that a result answers, or the earlier lines of the same answer."""
        if row.type == "user" and row.message:
            calls = (self._calls.get(block.tool_use_id or "") for block in row.message.blocks)
            yield from (call for call in calls if call is not None)
        before = self._answers.get(get_message_id(row) or "", [])
        yield from (other for other in reversed(before) if other.index < row.index)

    def _is_below(self, one: Entry, other: Entry) -> bool:
        """Return whether an entry is the same as another or descends from it."""
        if not self._may_turn and one.index < other.index:
            return False
        index, seen = one.index, set[int]()
        while index >= 0 and index not in seen:
            if index == other.index:
                return True
            seen.add(index)
            index = self._assigned.get(index, self._entries[index].parent)
        return False
