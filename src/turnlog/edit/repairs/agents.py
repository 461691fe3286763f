"""Repair of entries whose parent stands in a sub-agent's file only: what leads to it is brought in.

Some clients wrote lines of the main conversation there. A line that leads to the beginning of the sub-agent's own
conversation is none of these: what hangs on it hangs behind what was written just before it.
"""

from __future__ import annotations

from turnlog.edit.draft import DraftRow
from turnlog.edit.repairs.case import RepairAttempt, RepairCase
from turnlog.edit.repairs.parent_finder import ParentFinder
from turnlog.entries.entry import Body, Entry
from turnlog.session.graph import get_message_id
from turnlog.session.session import Session


def bring_in_agent_entries(case: RepairCase) -> RepairAttempt:
    """Bring in the entries that stand in a sub-agent's file, as the main conversation's own."""
    homes, rows, hung = ParentFinder(case), list[DraftRow](), 0
    known = set(case.session.file.by_uuid)
    wanted = {entry.index: entry for entry in case.entries}
    for row in case.draft.rows:
        child = wanted.get(row.entry.index) if row.entry is not None else None
        if child is not None and child.parent_uuid and child.parent_uuid not in known:
            bodies = _collect_ancestors(child.parent_uuid, case.session, known)
            rows += [DraftRow(None, body) for body in bodies]
            known |= {body["uuid"] for body in bodies}
            if not bodies and (home := homes.find_parent(child)) is not None:
                row = row._replace(changed={**row.changed, "parentUuid": home.uuid})
                hung += 1
        rows.append(row)
    count = len(rows) - len(case.draft.rows)
    told = [f"{count:,} brought in from the sub-agent's file"] if count else []
    told += [f"{hung:,} hung behind what was written just before"] if hung else []
    return RepairAttempt(case.draft._replace(rows=tuple(rows)), count + hung, ", ".join(told))


def _collect_ancestors(uuid: str, session: Session, known: set[str]) -> list[Body]:
    """The entries from one that is known down to a given one, with all lines of their messages; none if none is."""
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
    found = {entry.index: entry for entry in [*chain.values(), *beside] if entry.uuid}
    return [_to_own_entry(agent.file.read_body(found[at])) for at in sorted(found)]


def _find_holder(session: Session, uuid: str) -> Session:
    """The sub-agent's session that has an entry."""
    files = (session.open_agent_session(agent) for agent in session.agents if agent.path is not None)
    return next(inner for inner in files if uuid in inner.file.by_uuid)


def _to_own_entry(body: Body) -> Body:
    return {**{key: value for key, value in body.items() if key != "agentId"}, "isSidechain": False}
