"""Repairs of links: entries whose parent is lost, empty, from before a compaction, or one of their own descendants."""

from __future__ import annotations

from collections.abc import Iterable

from turnlog.edit.draft import Draft
from turnlog.edit.repairs.case import Case, Repaired
from turnlog.edit.repairs.home import Homes
from turnlog.entries.entry import Entry
from turnlog.session.graph import is_said


def hung(case: Case) -> Repaired:
    """Entries without a parent hang behind what was written just before them."""
    homes = Homes(case)
    found = [(row, homes.of(row)) for row in case.entries]
    hung = [(row, home) for row, home in found if home is not None or row.parent_uuid is not None]
    words = "hung behind what was written just before" if hung else "nothing stands before it"
    return Repaired(_below(case, hung), len(hung), words)


def _below(case: Case, found: Iterable[tuple[Entry, Entry | None]]) -> Draft:
    """With other parents for some entries, and for copies of them."""
    changes = {at: {"parentUuid": home.uuid if home else None} for row, home in found for at in case.twins(row)}
    return case.draft.changing(changes)


def stale(case: Case) -> Repaired:
    """Entries that go on from before the last compaction go on from what came after it."""
    homes, since = Homes(case), case.session.graph.compactions[-1].index
    hung = [(row, home) for row in case.entries if (home := homes.of(row, since)) is not None]
    return Repaired(_below(case, hung), len(hung), "goes on from what came after the last compaction now")


def answers(case: Case) -> Repaired:
    """A line of the client that stands beside an answer comes behind it, unless something was said below that."""
    graph, rows = case.session.graph, case.session.file.entries
    hung: dict[int, Entry] = {}
    branches = 0
    for spot in case.spots:
        beside = case.session.file.by_uuid.get(spot.detail)
        if beside is None or not isinstance(spot.item, Entry):
            continue
        line = [rows[index] for index in sorted(graph.below(spot.item.index))]
        if any(row.type == "user" and is_said(row) for row in line):
            branches += 1
        else:
            hung[beside] = line[-1]
    told = ["what stood beside the answer comes behind it now"] if hung else []
    told += [f"{branches:,} with a conversation below stay branches: `turnlog fork --at leaf:K`"] if branches else []
    return Repaired(_below(case, [(rows[at], home) for at, home in hung.items()]), len(hung), "; ".join(told))


def rings(case: Case) -> Repaired:
    """A ring is cut at the entry that was written first: its link leads to a later one."""
    homes = Homes(case)
    firsts = [min(ring, key=lambda row: row.index) for ring in case.session.graph.cycles]
    draft = _below(case, [(first, homes.of(first)) for first in firsts])
    return Repaired(draft, len(firsts), "cut where an entry led to a later one")
