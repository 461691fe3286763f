"""Finds where the branches below a fork alternate in the file, for all forks of a session.

The prompts and answers below a fork form a list in file order. From the top down, that list is split at each fork: the
rows of all branches but the largest one are taken out of it. No row is taken out more often than the logarithm of their
number, so forks within forks don't take longer than forks beside each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from turnlog.entries.entry import NO_PARENT, Entry
from turnlog.session.graph import Graph, get_message_id, is_said
from turnlog.session.voices import list_bottom_up


def find_branch_switches(graph: Graph, entries: Sequence[Entry]) -> Iterator[tuple[Entry, list[Entry]]]:
    """Yield each fork with the rows, in file order, that belong to another branch than the row before them.

    Rows of the message that forks are left out: they are parts of it. Forks whose rows are their own ancestors, which
    no client writes, are skipped.
    """
    forks = {branch.fork.index: branch.fork for branch in graph.branches}
    splitter = _Splitter(graph, entries)
    switches = {index: splitter.split_at(index, index in forks) for index in splitter.list_top_down()}
    for index, fork in forks.items():
        if index in switches:
            yield fork, [entries[later] for later in sorted(switches[index])]


class _Splitter:
    def __init__(self, graph: Graph, entries: Sequence[Entry]) -> None:
        self._graph, self._entries = graph, entries
        self._order = list_bottom_up(graph.rows)
        tops: dict[int, int] = {}
        for index in self.list_top_down():
            tops[index] = tops.get(entries[index].parent, index)
        trees: dict[int, list[int]] = {}
        for row in graph.rows:
            if row.index in tops and is_said(row):
                trees.setdefault(tops[row.index], []).append(row.index)
        self._is_said = {index for tree in trees.values() for index in tree}
        self._size = dict.fromkeys(self._order, 0)
        """How many rows are said at and below each row."""
        for index in self._order:
            self._size[index] += index in self._is_said
            if (parent := entries[index].parent) in self._size:
                self._size[parent] += self._size[index]
        self._before: dict[int, int] = {}
        self._after: dict[int, int] = {}
        for tree in trees.values():
            self._link(tree)

    def list_top_down(self) -> Iterator[int]:
        """List the rows with their parents first."""
        return reversed(self._order)

    def split_at(self, index: int, is_fork: bool) -> set[int]:
        """Split the list of a row's tree into those of its branches; at a fork, return where the branches alternate."""
        if index in self._is_said:
            self._unlink(index)
        starts = sorted((s for s in self._graph.list_children(index) if self._size.get(s)), key=self._size.__getitem__)
        branch_of: dict[int, int] = {}
        parts: list[list[int]] = []
        for start in starts[:-1]:
            below = self._graph.list_descendants(start)
            parts.append(sorted(place for place in below if place in self._is_said))
            branch_of.update(dict.fromkeys(parts[-1], start))
        switches = self._find_switches(branch_of, get_message_id(self._entries[index])) if is_fork else set()
        for part in parts:
            for place in part:
                self._unlink(place)
        for part in parts:
            self._link(part)
        return switches

    def _find_switches(self, branch_of: dict[int, int], message: str | None) -> set[int]:
        """Find the rows whose predecessor is in another branch; rows without a branch belong to the largest."""
        found: set[int] = set()
        for place in branch_of:
            if not self._is_part(place, message):
                before, after = self._find(self._before, place, message), self._find(self._after, place, message)
                if before >= 0 and branch_of.get(before) != branch_of[place]:
                    found.add(place)
                if after >= 0 and branch_of.get(after) != branch_of[place]:
                    found.add(after)
        return found

    def _find(self, links: dict[int, int], place: int, message: str | None) -> int:
        place = links[place]
        while place >= 0 and self._is_part(place, message):
            place = links[place]
        return place

    def _is_part(self, place: int, message: str | None) -> bool:
        return message is not None and get_message_id(self._entries[place]) == message

    def _link(self, places: Iterable[int]) -> None:
        last = NO_PARENT
        for place in places:
            self._before[place] = last
            if last >= 0:
                self._after[last] = place
            last = place
        if last >= 0:
            self._after[last] = NO_PARENT

    def _unlink(self, place: int) -> None:
        before, after = self._before[place], self._after[place]
        if before >= 0:
            self._after[before] = after
        if after >= 0:
            self._before[after] = before
