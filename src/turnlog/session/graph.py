"""The graph of a session: parents, roots, leaves, branches, and what is wrong with them.

This is the file as it stands, all branches at once. What the client would resume of it is in `resume`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from functools import cached_property

from ..entries.entry import Entry
from ..entries.reader import Transcript
from .rows import BOUNDARY, message_id

NONE = -1
"""The parent of a root."""
MISSING = -2
"""The parent of a row whose parent is not in the file."""


class Graph:
    """How the entries of a session that have a uuid hang together. Rows are named by their index in the file."""

    def __init__(self, file: Transcript, entries: Sequence[Entry]) -> None:
        self._entries = file.entries
        self._at = at = file.by_uuid
        rows = [entry for entry in entries if entry.uuid is not None]
        self.duplicates = [row for row in rows if at[row.uuid or ""] != row.index] if file.repeated else []
        """Rows whose uuid stood in the file before; they take no part in anything else."""
        self.rows = [row for row in rows if at[row.uuid or ""] == row.index] if file.repeated else rows
        self._parents = [at.get(row.parent_uuid, MISSING) if row.parent_uuid else NONE for row in self.rows]

    def parent(self, row: Entry) -> int:
        """The index of a row's parent, NONE or MISSING."""
        return self._at.get(row.parent_uuid, MISSING) if row.parent_uuid else NONE

    @cached_property
    def _links(self) -> tuple[list[int], list[int]]:
        """For each index the first row below it, and the next row below the same parent; NONE at the ends."""
        first = [NONE] * len(self._entries)
        following = [NONE] * len(self._entries)
        for row, parent in zip(reversed(self.rows), reversed(self._parents), strict=True):
            if parent >= 0:
                following[row.index] = first[parent]
                first[parent] = row.index
        return first, following

    def children(self, index: int) -> Iterator[int]:
        """The rows below a row, in the order of the file."""
        first, following = self._links
        child = first[index]
        while child >= 0:
            yield child
            child = following[child]

    def below(self, start: int, without: Set[int] = frozenset()) -> Iterator[int]:
        """A row and all rows that descend from it, but for those in `without`; ends on any graph."""
        seen, todo = {start}, [start]
        while todo:
            index = todo.pop()
            yield index
            for child in self.children(index):
                if child not in seen and child not in without:
                    seen.add(child)
                    todo.append(child)

    def previous(self, row: Entry) -> Entry | None:
        """The row that was written just before a row."""
        place = bisect_left(self.rows, row.index, key=lambda other: other.index)
        return self.rows[place - 1] if place > 0 else None

    def upwards(self, uuid: str) -> Iterator[Entry]:
        """A row, its parent and so on; ends on any graph."""
        index, seen = self._at.get(uuid, NONE), set()
        while index >= 0 and index not in seen:
            seen.add(index)
            row = self._entries[index]
            yield row
            index = self.parent(row)

    @cached_property
    def roots(self) -> list[Entry]:
        """Rows without a parent."""
        return [row for row, parent in zip(self.rows, self._parents, strict=True) if parent == NONE]

    @cached_property
    def missing(self) -> list[Entry]:
        """Rows whose parent is not in the file."""
        return [row for row, parent in zip(self.rows, self._parents, strict=True) if parent == MISSING]

    @cached_property
    def compactions(self) -> list[Entry]:
        """The boundaries of compactions."""
        return [row for row in self.rows if row.type == "system" and row.subtype == BOUNDARY]

    @cached_property
    def cycles(self) -> list[list[Entry]]:
        """Rows that are their own ancestors, each ring once."""
        if all(parent < row.index for row, parent in zip(self.rows, self._parents, strict=True)):
            return []  # parents stand before their children, as in nearly every file
        finished: set[int] = set()
        found = []
        for row in self.rows:
            path: dict[int, None] = {}
            index = row.index
            while index >= 0 and index not in finished and index not in path:
                path[index] = None
                index = self.parent(self._entries[index])
            if index in path:
                ring = list(path)
                found.append([self._entries[member] for member in ring[ring.index(index) :]])
            finished.update(path)
        return found

    @cached_property
    def branches(self) -> list[Branch]:
        """Rows from which two or more different continuations start; parallel calls and side leaves are none."""
        counts = Counter(self._parents)
        forks = {parent for parent, count in counts.items() if count > 1 and parent >= 0}
        starts: dict[int, list[Entry]] = {}
        for row, parent in zip(self.rows, self._parents, strict=True):
            if parent in forks and (row.index in counts or is_said(row)):
                starts.setdefault(parent, []).append(row)
        found = []
        for parent, rows in sorted(starts.items()):
            fork = self._entries[parent]
            going_on = [row for row in rows if self._continues(row, message_id(fork))] if len(rows) > 1 else []
            if len(going_on) > 1:
                found.append(Branch(fork, going_on))
        return found

    def _continues(self, start: Entry, message: str | None) -> bool:
        """Whether a prompt, or an answer other than `message`, stands at or below a row."""
        below = (self._entries[index] for index in self.below(start.index))
        return any(is_said(row) and (message is None or message_id(row) != message) for row in below)

    @cached_property
    def leaves(self) -> list[Entry]:
        """The last row of each continuation in which anything is said, in the order of the file."""
        starts = {row.index for branch in self.branches for row in branch.starts[1:]}
        tops = [row.index for row, parent in zip(self.rows, self._parents, strict=True) if parent < 0]
        tips = [tip for start in (*tops, *starts) if (tip := self._tip(start, starts - {start})) is not None]
        return [self._entries[tip] for tip in sorted(tips)]

    def _tip(self, start: int, others: Set[int]) -> int | None:
        rows = [self._entries[index] for index in self.below(start, others)]
        if not any(row.type in ("user", "assistant") for row in rows):
            return None
        return max((row.index for row in rows if row.type != "progress"), default=None)


class Branch:
    """A row from which different continuations start."""

    def __init__(self, fork: Entry, starts: list[Entry]) -> None:
        self.fork = fork
        self.starts = starts


def holds_result(row: Entry) -> bool:
    """Whether a user entry brings results of calls."""
    content = row.message.content if row.message else None
    return isinstance(content, list) and any(block.type == "tool_result" for block in content)


def is_said(row: Entry) -> bool:
    """Whether a row is an answer, or something said to the model that is neither a result nor added by the client."""
    return row.type == "assistant" or (row.type == "user" and not row.is_meta and not holds_result(row))
