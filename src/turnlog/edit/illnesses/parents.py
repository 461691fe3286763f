"""Illnesses of the links between entries: a parent is missing, null, in a sub-agent's file, or a descendant.

Some clients wrote lines of the main conversation into a sub-agent's file; the repair copies those lines back. A line
that belongs to the sub-agent's own conversation is not copied; instead, its child is attached to the entry written just
before the child.
"""

from __future__ import annotations

from turnlog.edit.draft import DraftRow
from turnlog.edit.illnesses.illness import Illness, RepairAttempt, RepairCase, Symptoms
from turnlog.edit.illnesses.parent_finder import ParentFinder
from turnlog.edit.illnesses.resume_view import ResumeView
from turnlog.entries.entry import Body, Entry
from turnlog.session.check import Severity
from turnlog.session.graph import get_message_id, is_boundary, is_said
from turnlog.session.session import Session

REWIND_REMEDY = "none, if you rewound or cleared the conversation"
LOST_LINK_CAUSE = "the client named an entry that it never wrote, or a tool removed the entry (#21617, #22526, #46603)"


# -- detection


def detect_missing_parents(view: ResumeView, symptoms: Symptoms) -> None:
    """Find entries whose parent is not in the file."""
    session = view.session
    elsewhere = session.find_parents_elsewhere()
    snapshots = _list_snapshot_ids(session) if session.graph.rows_missing_parent else set()
    for row in session.graph.rows_missing_parent:
        is_cut = view.walk_end == "missing" and row.parent_uuid == view.rows.up[view.chain[0].uuid]
        severity: Severity = "error" if is_cut and view.hidden_before else "warning"
        if row is session.graph.rows[0]:  # nothing before it could be lost
            severity = "info"
        if row.parent_uuid in elsewhere:
            symptoms.add_items("parent-in-agent", severity, "the parent is only in a sub-agent's file", [row])
        elif row.parent_uuid in snapshots:
            symptoms.add_items("snapshot-id", severity, "the parent was never written, only its file snapshot", [row])
        else:
            symptoms.add_items("missing-parent", severity, "the parent of an entry is not in the file", [row])


def _list_snapshot_ids(session: Session) -> set[str]:
    """Return the ids of the messages that file snapshots belong to."""
    kinds = ("file-history-snapshot", "file-history-delta")
    named = (session.read_body(entry).get("messageId") for entry in session.file.entries if entry.type in kinds)
    return {uuid for uuid in named if isinstance(uuid, str)}


def detect_rings(view: ResumeView, symptoms: Symptoms) -> None:
    """Find entries that are their own ancestors, in a cycle of parents."""
    for ring in view.session.graph.cycles:
        symptoms.add_items("cycle", "error", "entries are their own ancestors", ring)


def detect_extra_roots(view: ResumeView, symptoms: Symptoms) -> None:
    """Find entries without a parent, other than the first one and compactions."""
    graph = view.session.graph
    openings = [(row, _find_first_said(view.session, row)) for row in graph.roots if not is_boundary(row)]
    for row, said in [(row, said) for row, said in openings if said is not None][1:]:
        if said.type == "user":
            text = "another prompt starts over: a rewind to the beginning, a cleared context, or a lost link"
            symptoms.add_items("several-roots", "info", text, [row])
        else:
            symptoms.add_items("several-roots", "warning", "an entry in the middle has no parent", [row])


def _find_first_said(session: Session, root: Entry) -> Entry | None:
    """Return the first prompt or answer at or below a root."""
    rows = session.file.entries
    return next(
        (rows[index] for index in sorted(session.graph.list_descendants(root.index)) if is_said(rows[index])), None
    )


# -- repair


def attach_orphans(case: RepairCase) -> RepairAttempt:
    """Attach entries without a parent to the entries written just before them."""
    finder = ParentFinder(case)
    pairs = [(row, finder.find_parent(row)) for row in case.entries]
    attached = [(row, home) for row, home in pairs if home is not None or row.parent_uuid is not None]
    words = "attached to what was written just before" if attached else "nothing comes before it"
    return RepairAttempt(case.with_parents(attached), len(attached), words)


def cut_rings(case: RepairCase) -> RepairAttempt:
    """Cut each cycle at its earliest entry, whose parent was written later."""
    finder = ParentFinder(case)
    firsts = [min(ring, key=lambda row: row.index) for ring in case.session.graph.cycles]
    draft = case.with_parents((first, finder.find_parent(first)) for first in firsts)
    return RepairAttempt(draft, len(firsts), "cut where an entry named a later one as its parent")


def copy_agent_entries(case: RepairCase) -> RepairAttempt:
    """Copy the entries from the sub-agent's file into the main conversation."""
    finder, rows, attached = ParentFinder(case), list[DraftRow](), 0
    known = set(case.session.file.by_uuid)
    wanted = {entry.index: entry for entry in case.entries}
    for row in case.draft.rows:
        child = wanted.get(row.entry.index) if row.entry is not None else None
        if child is not None and child.parent_uuid and child.parent_uuid not in known:
            bodies = _collect_ancestors(child.parent_uuid, case.session, known)
            rows += [DraftRow(None, body) for body in bodies]
            known |= {body["uuid"] for body in bodies}
            if not bodies and (home := finder.find_parent(child)) is not None:
                row = row._replace(changed={**row.changed, "parentUuid": home.uuid})
                attached += 1
        rows.append(row)
    count = len(rows) - len(case.draft.rows)
    words = [f"copied {count:,} from the sub-agent's file"] if count else []
    words += [f"attached {attached:,} to what was written just before"] if attached else []
    return RepairAttempt(case.draft._replace(rows=tuple(rows)), count + attached, ", ".join(words))


def _collect_ancestors(uuid: str, session: Session, known: set[str]) -> list[Body]:
    """Return an entry and its ancestors below a known one, with all lines of their messages; [] if none is known."""
    agent = _find_holder(session, uuid)
    entries, chain = agent.file.entries, dict[int, Entry]()
    index = agent.file.by_uuid[uuid]
    while index >= 0 and index not in chain:
        chain[index] = entries[index]
        index = -1 if entries[index].parent_uuid in known else entries[index].parent
    if list(chain.values())[-1].parent_uuid not in known:
        return []
    messages = {get_message_id(entry) for entry in chain.values()} - {None}
    beside = [entry for entry in entries if get_message_id(entry) in messages and entry.uuid not in known]
    entries_by_index = {entry.index: entry for entry in [*chain.values(), *beside] if entry.uuid}
    return [_to_own_entry(agent.file.read_body(entries_by_index[at])) for at in sorted(entries_by_index)]


def _find_holder(session: Session, uuid: str) -> Session:
    """Return the sub-agent's session that contains an entry."""
    files = (session.open_agent_session(agent) for agent in session.agents if agent.path is not None)
    return next(inner for inner in files if uuid in inner.file.by_uuid)


def _to_own_entry(body: Body) -> Body:
    return {**{key: value for key, value in body.items() if key != "agentId"}, "isSidechain": False}


_OLD_NOTICE = "Clients up to 2.1.45 show only the last few messages when they resume; newer ones find the others."
MISSING_PARENT = Illness(
    "missing-parent",
    "Resuming shows only the last few messages although the file is complete.",
    LOST_LINK_CAUSE,
    attach_orphans,
    old_notice=_OLD_NOTICE,
)
PARENT_IN_AGENT = Illness(
    "parent-in-agent",
    "Resuming shows only the last few messages although the file is complete.",
    "some clients (2.1.23 – 2.1.45) wrote lines of the conversation only into a sub-agent's file (#23375)",
    copy_agent_entries,
    old_notice=_OLD_NOTICE,
)
SNAPSHOT_ID = Illness(
    "snapshot-id",
    "Resuming shows only the last message although the file is complete.",
    "a file snapshot was written for a message that itself never was (#24304, #36583)",
    attach_orphans,
    old_notice=_OLD_NOTICE,
)
CYCLE = Illness(
    "cycle",
    "Resuming shows the same few messages; clients up to 2.1.29 hang.",
    "ids that were written twice, or an edit, made entries their own ancestors",
    cut_rings,
)
SEVERAL_ROOTS = Illness(
    "several-roots",
    "Resuming shows only what came after some point.",
    "a rewind to the beginning or a cleared context, which is fine; or a link that was written empty",
    attach_orphans,
    remedy_if_noted=REWIND_REMEDY,
)
