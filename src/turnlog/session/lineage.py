"""The line of descent of an entry: everything that was said before it, over compactions too.

The client's own walk (`resume`) ends at a compaction, since a summary stands for what was before. For people, what
was before is still a part of the same conversation.
"""

from __future__ import annotations

from ..entries.entry import MISSING, Entry
from ..errors import Refused
from .graph import Graph
from .rows import is_boundary
from .session import Session
from .turns import Turn


def lineage(session: Session, uuid: str) -> set[str]:
    """The uuids of an entry and of all that it descends from."""
    graph = session.graph
    before = {item.boundary.uuid: item.summarised[-1].uuid for item in session.compactions if item.summarised}
    found: set[str] = set()
    start: str | None = uuid
    while start is not None and start not in found:
        rows = list(graph.upwards(start))
        found.update(row.uuid for row in rows if row.uuid)
        start = None
        if rows:
            start = before.get(rows[-1].uuid) or _written_before(graph, rows[-1])
    return found


def _written_before(graph: Graph, top: Entry) -> str | None:
    """What was written just before a row whose parent, or what it continues, is not in the file."""
    previous = graph.previous(top) if graph.parent(top) == MISSING or is_boundary(top) else None
    return previous.uuid if previous else None


def turns_to(session: Session, uuid: str) -> list[Turn]:
    """The turns that lead to an entry; those that can't be placed are among them."""
    line = lineage(session, uuid)
    return [turn for turn in session.turns if turn.start.uuid is None or turn.start.uuid in line]


def current_leaf(session: Session) -> str | None:
    """The entry that the newest client would go on from; None where it refuses."""
    try:
        return session.leaf().uuid
    except Refused:
        return None
