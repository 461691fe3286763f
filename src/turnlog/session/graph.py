"""The graph of a session: parents, roots, leaves, branches, and defects in them.

It covers the whole file, with all its branches. `resume` decides which part the client would resume.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import NamedTuple

from turnlog.entries.entry import MISSING_PARENT, NO_PARENT, Entry
from turnlog.entries.reader import Transcript
from turnlog.session.voices import Voices, join_ring_voices, list_bottom_up

GRAPH_TYPES = frozenset({"user", "assistant", "system", "attachment", "progress"})
BOUNDARY_SUBTYPE = "compact_boundary"
_SPEAKER_TYPES = ("user", "assistant")


class _Links(NamedTuple):
    """For each index, its first child and its next sibling, with NO_PARENT at the ends."""

    first: list[int]
    following: list[int]
    tops: list[Entry]
    """The rows without a parent in the file."""


class Graph:
    """The links between the entries that have a uuid. Rows are identified by their index in the file."""

    def __init__(self, file: Transcript, entries: Sequence[Entry]) -> None:
        self._file = file
        self._entries = file.entries
        self._at = at = file.by_uuid
        rows = [entry for entry in entries if entry.uuid is not None]
        self.duplicates = [row for row in rows if at[row.uuid or ""] != row.index] if file.repeated else []
        """Rows that repeat an earlier uuid, which are not included anywhere else in the graph."""
        self.rows = [row for row in rows if at[row.uuid or ""] == row.index] if file.repeated else rows

    def get_parent(self, row: Entry) -> int:
        """Return the index of a row's parent, NO_PARENT or MISSING_PARENT."""
        return row.parent

    @cached_property
    def _links(self) -> _Links:
        first = [NO_PARENT] * len(self._entries)
        following = [NO_PARENT] * len(self._entries)
        tops = []
        for row in reversed(self.rows):
            if (parent := row.parent) >= 0:
                index = row.index
                following[index] = first[parent]
                first[parent] = index
            else:
                tops.append(row)
        tops.reverse()
        return _Links(first, following, tops)

    def list_children(self, index: int) -> Iterator[int]:
        """Yield the children of a row in file order."""
        first, following, _ = self._links
        child = first[index]
        while child >= 0:
            yield child
            child = following[child]

    def list_descendants(self, start: int, without: Set[int] = frozenset()) -> Iterator[int]:
        """Yield a row and all its descendants except those in `without`; terminates on any graph."""
        seen, todo = {start}, [start]
        while todo:
            index = todo.pop()
            yield index
            for child in self.list_children(index):
                if child not in seen and child not in without:
                    seen.add(child)
                    todo.append(child)

    def find_previous(self, row: Entry) -> Entry | None:
        """Return the row that was written just before a given row."""
        place = bisect_left(self.rows, row.index, key=lambda other: other.index)
        return self.rows[place - 1] if place > 0 else None

    def walk_up(self, uuid: str) -> Iterator[Entry]:
        """Yield a row, then its parent and so on; terminates on any graph."""
        index, seen = self._at.get(uuid, NO_PARENT), set()
        while index >= 0 and index not in seen:
            seen.add(index)
            row = self._entries[index]
            yield row
            index = row.parent

    @cached_property
    def roots(self) -> list[Entry]:
        return [row for row in self._links.tops if row.parent == NO_PARENT]

    @cached_property
    def rows_missing_parent(self) -> list[Entry]:
        return [row for row in self._links.tops if row.parent == MISSING_PARENT]

    @cached_property
    def compactions(self) -> list[Entry]:
        """The boundary rows of compactions."""
        return [row for row in self.rows if row.subtype == BOUNDARY_SUBTYPE and row.type == "system"]

    @cached_property
    def cycles(self) -> list[list[Entry]]:
        """Rows that are their own ancestors, as one list per cycle."""
        if self._file.is_in_order:
            return []
        finished: set[int] = set()
        found = []
        for row in self.rows:
            path: dict[int, None] = {}
            index = row.index
            while index >= 0 and index not in finished and index not in path:
                path[index] = None
                index = self._entries[index].parent
            if index in path:
                ring = list(path)
                found.append([self._entries[member] for member in ring[ring.index(index) :]])
            finished.update(path)
        return found

    @cached_property
    def branches(self) -> list[Branch]:
        """Rows at which two or more different continuations start, not counting parallel calls and side leaves."""
        first, following, _ = self._links
        forks = {self._entries[index].parent for index, sibling in enumerate(following) if sibling >= 0}
        found = []
        for parent in sorted(forks):
            fork = self._entries[parent]
            below = [self._entries[index] for index in self.list_children(parent)]
            rows = [row for row in below if first[row.index] >= 0 or is_said(row)]
            message = get_message_id(fork)
            starts = [row for row in rows if self._voices.has_other(row.index, message)] if len(rows) > 1 else []
            if len(starts) > 1:
                found.append(Branch(fork, starts))
        return found

    @cached_property
    def _voices(self) -> Voices:
        voices = Voices(len(self._entries))
        for row in self.rows:
            if is_said(row):
                voices.add(row.index, get_message_id(row))
        for index in list_bottom_up(self.rows):
            if (parent := self._entries[index].parent) >= 0:
                voices.add_all(parent, index)
        for ring in self.cycles:
            join_ring_voices(voices, ring)
        return voices

    @cached_property
    def leaves(self) -> list[Entry]:
        """The last row of each continuation that contains a message, in file order."""
        branch_starts = {row.index for branch in self.branches for row in branch.starts[1:]}
        # For each index, the row at which its continuation starts; NO_PARENT for rows without a root.
        start_of = [NO_PARENT] * len(self._entries)
        tips: dict[int, int] = {}
        spoken = set()
        for row in self._list_from_top():
            index, parent, kind = row.index, row.parent, row.type
            start = start_of[index] = index if parent < 0 or index in branch_starts else start_of[parent]
            if kind != "progress":
                if index > tips.get(start, NO_PARENT):  # the rows may not be in file order
                    tips[start] = index
                if kind in _SPEAKER_TYPES:
                    spoken.add(start)
        continued = self._map_continuations(start_of)
        joined: dict[int, int] = {}
        for start in spoken - {NO_PARENT}:
            first = _find_first_start(start, continued)
            joined[first] = max(tips[start], joined.get(first, NO_PARENT))
        return [self._entries[tip] for tip in sorted(joined.values())]

    def _list_from_top(self) -> Iterable[Entry]:
        """List the rows that have a root, each after its parent."""
        if self._file.is_in_order:
            return self.rows
        return (self._entries[index] for top in self._links.tops for index in self.list_descendants(top.index))

    def _map_continuations(self, start_of: list[int]) -> dict[int, int]:
        """Map each compaction to the start of the continuation to which it belongs."""
        found: dict[int, int] = {}
        for boundary in self.compactions:
            before = self.find_continued_row(boundary) if boundary.parent < 0 else None
            start = _find_first_start(start_of[before.index], found) if before else NO_PARENT
            if start not in (NO_PARENT, boundary.index):
                found[boundary.index] = start
        return found

    def find_continued_row(self, boundary: Entry) -> Entry | None:
        """Find the row that a compaction continues: the row that it names or, if that is missing, the previous row."""
        named = self._file.read_body(boundary).get("logicalParentUuid")
        place = self._at.get(named) if isinstance(named, str) else None
        return self.find_previous(boundary) if place is None else self._entries[place]


def _find_first_start(start: int, continued: Mapping[int, int]) -> int:
    """Follow continuations back to the start of the first one."""
    while start in continued:
        start = continued[start]
    return start


class Branch:
    """A row at which different continuations start."""

    def __init__(self, fork: Entry, starts: list[Entry]) -> None:
        self.fork = fork
        self.starts = starts


def holds_result(row: Entry) -> bool:
    """Return whether a user entry contains call results."""
    content = row.message.content if row.message else None
    if isinstance(content, list):
        for block in content:
            if block.type == "tool_result":
                return True
    return False


def is_said(row: Entry) -> bool:
    """Return whether a row is an answer, or is user input that is neither a result nor added by the client."""
    return row.type == "assistant" or (row.type == "user" and not row.is_meta and not holds_result(row))


def is_boundary(row: Entry) -> bool:
    return row.type == "system" and row.subtype == BOUNDARY_SUBTYPE


def get_message_id(row: Entry) -> str | None:
    """Return the id of the assistant message that a row belongs to."""
    return (row.message.id or None) if row.type == "assistant" and row.message else None
