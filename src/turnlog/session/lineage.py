"""The lineage of an entry: the conversation that led to it, across compactions.

The client's own walk (`resume`) ends at a compaction, because the summary replaces the earlier messages. For people,
the earlier messages still belong to the same conversation.
"""

from __future__ import annotations

from collections.abc import Iterable

from turnlog.entries.entry import MISSING_PARENT, NO_PARENT, Entry
from turnlog.errors import Refused
from turnlog.session.graph import Graph, is_boundary
from turnlog.session.session import Session
from turnlog.session.turns import Turn


def find_lineage(session: Session, uuid: str) -> set[str]:
    """Return the uuids of an entry and all its ancestors."""
    graph = session.graph
    before = {item.boundary.uuid: item.summarised[-1].uuid for item in session.compactions if item.summarised}
    found: set[str] = set()
    start: str | None = uuid
    while start is not None and start not in found:
        rows = list(graph.walk_up(start))
        found.update(row.uuid for row in rows if row.uuid)
        start = None
        if rows:
            start = before.get(rows[-1].uuid) or _find_written_before(graph, rows[-1])
    return found


def _find_written_before(graph: Graph, top: Entry) -> str | None:
    """Return the row written just before `top` if the parent of `top`, or the row it continues, is not in the file."""
    previous = graph.find_previous(top) if graph.get_parent(top) == MISSING_PARENT or is_boundary(top) else None
    return previous.uuid if previous else None


def list_turns_to(session: Session, uuid: str) -> list[Turn]:
    """List the turns that lead to an entry, including turns whose position is unknown."""
    line = find_lineage(session, uuid)
    return [turn for turn in session.turns if turn.start.uuid is None or turn.start.uuid in line]


def find_current_leaf_uuid(session: Session) -> str | None:
    """Return the entry from which the newest client would continue, or None if it would refuse to resume."""
    try:
        return session.find_leaf().uuid
    except Refused:
        return None


class Descent:
    """The lineages of a whole session, for many leaves: each turn with the one that leads to it."""

    def __init__(self, session: Session) -> None:
        self._graph = session.graph
        self._entries = session.file.entries
        self._at = session.file.by_uuid
        self._before = {item.boundary.uuid: item.summarised[-1] for item in session.compactions if item.summarised}
        self._starts = {turn.start.index: turn for turn in session.turns if turn.start.uuid}
        self.loose_turns = [turn for turn in session.turns if not turn.start.uuid]
        """The turns whose position is unknown, which belong to every lineage."""
        self._nearest: dict[int, int] = {}
        """For each visited row, the nearest row at or above it that starts a turn, or NO_PARENT."""

    def find_last_turn(self, uuid: str) -> Turn | None:
        """Return the last turn that leads to an entry."""
        return self._starts.get(self._find_turn_start(self._at.get(uuid, NO_PARENT)))

    def find_turn_before(self, turn: Turn) -> Turn | None:
        """Return the turn that leads to another one."""
        return self._starts.get(self._find_turn_start(self._find_row_above(turn.start)))

    def map_first_leaves(self, leaves: Iterable[str]) -> dict[int, str]:
        """Map each leaf, and each ancestor of a leaf, to the first leaf that it leads to."""
        found: dict[int, str] = {}
        for leaf in leaves:
            place = self._at.get(leaf, NO_PARENT)
            while place >= 0 and place not in found:
                found[place] = leaf
                place = self._find_row_above(self._entries[place])
        return found

    def _find_turn_start(self, place: int) -> int:
        visited: dict[int, None] = {}
        while place >= 0 and place not in self._nearest and place not in self._starts and place not in visited:
            visited[place] = None
            place = self._find_row_above(self._entries[place])
        found = place if place in self._starts else self._nearest.get(place, NO_PARENT)
        self._nearest.update(dict.fromkeys(visited, found))
        return found

    def _find_row_above(self, row: Entry) -> int:
        if (parent := self._graph.get_parent(row)) >= 0:
            return parent
        above = self._before.get(row.uuid)
        uuid = above.uuid if above else _find_written_before(self._graph, row)
        return self._at.get(uuid or "", NO_PARENT)
