"""The graph of a session: parents, roots, leaves, branches, and what is wrong with them.

This is the file as it stands, all branches at once. What the client would resume of it is in `resume`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from ..entries.entry import Entry
from .rows import is_boundary, message_id

NONE = -1
"""The parent of a root."""
MISSING = -2
"""The parent of a row whose parent is not in the file."""


class Graph:
    """How the entries that have a uuid hang together. Rows are named by their place among these entries."""

    def __init__(self, rows: Sequence[Entry]) -> None:
        self.rows = rows
        self.at: dict[str, int] = {}
        """The place of a uuid; the first when it is written more than once."""
        for place, row in enumerate(rows):
            self.at.setdefault(row.uuid or "", place)
        at = self.at
        self.parent = [NONE if not row.parent_uuid else at.get(row.parent_uuid, MISSING) for row in rows]

    @cached_property
    def children(self) -> dict[int, list[int]]:
        """The rows below each row that has any."""
        found: dict[int, list[int]] = {}
        for place, parent in enumerate(self.parent):
            if parent >= 0:
                siblings = found.get(parent)
                if siblings is None:
                    found[parent] = [place]
                else:
                    siblings.append(place)
        return found

    @cached_property
    def roots(self) -> list[Entry]:
        """Rows without a parent."""
        return [self.rows[place] for place, parent in enumerate(self.parent) if parent == NONE]

    @cached_property
    def missing(self) -> list[Entry]:
        """Rows whose parent is not in the file."""
        return [self.rows[place] for place, parent in enumerate(self.parent) if parent == MISSING]

    @cached_property
    def duplicates(self) -> list[Entry]:
        """Rows whose uuid stood in the file before."""
        return [row for place, row in enumerate(self.rows) if self.at[row.uuid or ""] != place]

    @cached_property
    def compactions(self) -> list[Entry]:
        """The boundaries of compactions."""
        return [row for row in self.rows if is_boundary(row)]

    @cached_property
    def cycles(self) -> list[list[Entry]]:
        """Rows that are their own ancestors, each ring once."""
        if all(parent < place for place, parent in enumerate(self.parent)):
            return []  # parents stand before their children, as in nearly every file
        state = [0] * len(self.rows)
        found = []
        for start in range(len(self.rows)):
            path, place = [], start
            while place >= 0 and state[place] == 0:
                state[place] = 1
                path.append(place)
                place = self.parent[place]
            if place >= 0 and state[place] == 1:
                found.append([self.rows[p] for p in path[path.index(place) :]])
            for seen in path:
                state[seen] = 2
        return found

    @cached_property
    def branches(self) -> list[Branch]:
        """Rows from which two or more different continuations start; parallel calls and side leaves are none."""
        found = []
        for place, below in self.children.items():
            if len(below) > 1:
                starts = [child for child in below if self._continues(child, message_id(self.rows[place]))]
                if len(starts) > 1:
                    found.append(Branch(self.rows[place], [self.rows[child] for child in starts]))
        return found

    def _continues(self, start: int, message: str | None) -> bool:
        """Whether a prompt, or an answer other than `message`, stands at or below a row."""
        for place in self.below(start):
            row = self.rows[place]
            if row.type == "assistant" and (message is None or message_id(row) != message):
                return True
            if row.type == "user" and not row.is_meta and not holds_result(row):
                return True
        return False

    def below(self, start: int) -> Iterator[int]:
        """A row and all rows that descend from it; ends on any graph."""
        seen, todo = {start}, [start]
        while todo:
            place = todo.pop()
            yield place
            fresh = [child for child in self.children.get(place, ()) if child not in seen]
            seen.update(fresh)
            todo += fresh

    @cached_property
    def leaves(self) -> list[Entry]:
        """The last row of each continuation, in the order of the file."""
        starts = {self.at[start.uuid or ""] for branch in self.branches for start in branch.starts[1:]}
        tops = [place for place, parent in enumerate(self.parent) if parent < 0]
        tips = (self._tip(top, starts) for top in [*tops, *sorted(starts)])
        return [self.rows[tip] for tip in sorted(tip for tip in tips if tip is not None)]

    def _tip(self, start: int, other_starts: set[int]) -> int | None:
        """The last row of the continuation that starts at a row, or None when nothing is said in it."""
        last, said, todo, seen = None, False, [start], {start}
        while todo:
            place = todo.pop()
            row = self.rows[place]
            if row.type != "progress":
                last = place if last is None else max(last, place)
                said = said or row.type in ("user", "assistant")
            fresh = [child for child in self.children.get(place, ()) if child not in other_starts and child not in seen]
            seen.update(fresh)
            todo += fresh
        return last if said else None

    def upwards(self, uuid: str) -> Iterator[Entry]:
        """A row, its parent and so on; ends on any graph."""
        place, seen = self.at.get(uuid, NONE), set()
        while place >= 0 and place not in seen:
            seen.add(place)
            yield self.rows[place]
            place = self.parent[place]


class Branch:
    """A row from which different continuations start."""

    def __init__(self, fork: Entry, starts: list[Entry]) -> None:
        self.fork = fork
        self.starts = starts


def holds_result(row: Entry) -> bool:
    """Whether a user entry brings results of calls."""
    content = row.message.content if row.message else None
    return isinstance(content, list) and any(block.type == "tool_result" for block in content)


def graph_rows(entries: Iterable[Entry]) -> list[Entry]:
    """The entries that take part in the graph: those with a uuid."""
    return [entry for entry in entries if entry.uuid is not None]
