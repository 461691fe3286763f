"""Repairs of links: entries whose parent is lost, empty, from before a compaction, or one of their own descendants."""

from __future__ import annotations

from collections.abc import Iterable

from turnlog.edit.draft import Draft
from turnlog.edit.repairs.case import RepairAttempt, RepairCase
from turnlog.edit.repairs.parent_finder import ParentFinder
from turnlog.entries.entry import Entry
from turnlog.session.graph import is_said


def hang_orphans(case: RepairCase) -> RepairAttempt:
    """Entries without a parent hang behind what was written just before them."""
    homes = ParentFinder(case)
    found = [(row, homes.find_parent(row)) for row in case.entries]
    hung = [(row, home) for row, home in found if home is not None or row.parent_uuid is not None]
    words = "hung behind what was written just before" if hung else "nothing stands before it"
    return RepairAttempt(_with_parents(case, hung), len(hung), words)


def _with_parents(case: RepairCase, found: Iterable[tuple[Entry, Entry | None]]) -> Draft:
    """With other parents for some entries, and for copies of them."""
    changes = {
        at: {"parentUuid": home.uuid if home else None} for row, home in found for at in case.list_twin_places(row)
    }
    return case.draft.with_changes(changes)


def repair_stale_parents(case: RepairCase) -> RepairAttempt:
    """Entries that go on from before the last compaction go on from what came after it."""
    homes, since = ParentFinder(case), case.session.graph.compactions[-1].index
    hung = [(row, home) for row in case.entries if (home := homes.find_parent(row, since)) is not None]
    return RepairAttempt(_with_parents(case, hung), len(hung), "goes on from what came after the last compaction now")


def move_behind_answers(case: RepairCase) -> RepairAttempt:
    """A line of the client that stands beside an answer comes behind it, unless something was said below that."""
    graph, rows = case.session.graph, case.session.file.entries
    hung: dict[int, Entry] = {}
    branches = 0
    for spot in case.spots:
        beside = case.session.file.by_uuid.get(spot.detail)
        if beside is None or not isinstance(spot.item, Entry):
            continue
        line = [rows[index] for index in sorted(graph.list_descendants(spot.item.index))]
        if any(row.type == "user" and is_said(row) for row in line):
            branches += 1
        else:
            hung[beside] = line[-1]
    told = ["what stood beside the answer comes behind it now"] if hung else []
    told += [f"{branches:,} with a conversation below stay branches: `turnlog fork --at leaf:K`"] if branches else []
    return RepairAttempt(
        _with_parents(case, [(rows[at], home) for at, home in hung.items()]), len(hung), "; ".join(told)
    )


def cut_rings(case: RepairCase) -> RepairAttempt:
    """A ring is cut at the entry that was written first: its link leads to a later one."""
    homes = ParentFinder(case)
    firsts = [min(ring, key=lambda row: row.index) for ring in case.session.graph.cycles]
    draft = _with_parents(case, [(first, homes.find_parent(first)) for first in firsts])
    return RepairAttempt(draft, len(firsts), "cut where an entry led to a later one")
