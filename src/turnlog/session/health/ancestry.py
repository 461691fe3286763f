"""Symptoms in how the entries hang together: parents, roots, rings, copies, and who wrote them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from turnlog.entries.entry import Entry
from turnlog.session.graph import Branch, get_message_id, is_boundary, is_said
from turnlog.session.health.symptoms import Severity, Symptoms
from turnlog.session.resume_view import ResumeView
from turnlog.session.session import Session

_MIN_BRANCH_SWITCHES = 3
"""So often two branches must take turns in the file: a rewind is one change, a late answer of the old branch two."""


def detect_missing_parents(view: ResumeView, found: Symptoms) -> None:
    """Parents that are not in the file."""
    session = view.session
    elsewhere = session.find_parents_elsewhere()
    snapshots = _list_snapshot_ids(session) if session.graph.rows_missing_parent else set()
    for row in session.graph.rows_missing_parent:
        is_cut = view.walk_end == "missing" and row.parent_uuid == view.rows.up[view.chain[0].uuid]
        severity: Severity = "error" if is_cut and view.hidden_before else "warning"
        if row is session.graph.rows[0]:  # nothing stands before it that could be lost
            severity = "info"
        if row.parent_uuid in elsewhere:
            found.add_items("parent-in-agent", severity, "the parent stands in a sub-agent's file only", [row])
        elif row.parent_uuid in snapshots:
            found.add_items("snapshot-id", severity, "the parent was never written, only its file snapshot", [row])
        else:
            found.add_items("missing-parent", severity, "the parent of an entry is not in the file", [row])


def _list_snapshot_ids(session: Session) -> set[str]:
    """The messages that snapshots of files belong to."""
    kinds = ("file-history-snapshot", "file-history-delta")
    named = (session.read_body(entry).get("messageId") for entry in session.file.entries if entry.type in kinds)
    return {uuid for uuid in named if isinstance(uuid, str)}


def detect_copies(session: Session, found: Symptoms) -> None:
    """Uuids that are written more than once; equal copies harm nobody."""
    file = session.file
    for row in session.graph.duplicates:
        first = file.entries[file.by_uuid[row.uuid or ""]]
        if (row.parent_uuid, row.type) == (first.parent_uuid, first.type):
            found.add_items("duplicate-uuid", "info", "an entry is written twice, with the same parent", [row])
        else:
            found.add_items("duplicate-uuid", "warning", "two different entries have one uuid", [first, row])


def detect_rings(session: Session, found: Symptoms) -> None:
    """Entries that are their own ancestors."""
    for ring in session.graph.cycles:
        found.add_items("cycle", "error", "entries are their own ancestors", ring)


def detect_extra_roots(view: ResumeView, found: Symptoms) -> None:
    """Beginnings beyond the first one that are no compaction."""
    graph = view.session.graph
    begun = [(row, _find_first_said(view.session, row)) for row in graph.roots if not is_boundary(row)]
    for row, said in [(row, said) for row, said in begun if said is not None][1:]:
        if said.type == "user":
            text = "a further prompt begins anew: a rewind to the beginning, a cleared context, or a lost link"
            found.add_items("several-roots", "info", text, [row])
        else:
            found.add_items("several-roots", "warning", "an entry in the middle has no parent", [row])


def _find_first_said(session: Session, root: Entry) -> Entry | None:
    """What is said first at or below a root."""
    rows = session.file.entries
    return next(
        (rows[index] for index in sorted(session.graph.list_descendants(root.index)) if is_said(rows[index])), None
    )


def detect_strangers(session: Session, found: Symptoms) -> None:
    """Entries of another session among its own. What its own entries go on from was copied when it was forked."""
    own = session.session_id
    kept = {entry.index for entry in session.entries if entry.session_id == own and entry.uuid}
    if not kept:
        return
    for index in list(kept):
        above = session.file.entries[index].parent
        while above >= 0 and above not in kept:
            kept.add(above)
            above = session.file.entries[above].parent
    others = [entry for entry in session.graph.rows if entry.session_id not in (None, own) and entry.index not in kept]
    found.add_items("other-session", "warning", "an entry of another session stands among its own", others)


def detect_parallel_writers(session: Session, found: Symptoms) -> None:
    """Branches that grew at the same time."""
    for branch in session.graph.branches:
        rows = list(_list_said_by_branch(session, branch))
        switches = [later for earlier, later in pairwise(rows) if earlier[0] != later[0]]
        if len(switches) >= _MIN_BRANCH_SWITCHES:
            text = "two branches grew at the same time"
            found.add_items("two-writers", "warning", text, [branch.fork, *(row for _, row in switches)])


def _list_said_by_branch(session: Session, branch: Branch) -> Iterator[tuple[int, Entry]]:
    """What was said below a fork in the order of the file, each with the number of its branch."""
    fork, rows = get_message_id(branch.fork), session.file.entries
    starts = {start.index for start in branch.starts}
    below = [
        (index, number)
        for number, start in enumerate(branch.starts)
        for index in session.graph.list_descendants(start.index, starts - {start.index})
    ]
    for index, number in sorted(below):
        if is_said(rows[index]) and (fork is None or get_message_id(rows[index]) != fork):
            yield number, rows[index]
