"""Repairs of where a session goes on: its end, what a compaction kept, and what the client refuses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from turnlog.edit.draft import Draft
from turnlog.edit.ending import going_on
from turnlog.edit.fork.fork import last_prompt
from turnlog.edit.repairs.case import Case, Repaired
from turnlog.entries.entry import Body, Entry
from turnlog.entries.patch import GONE
from turnlog.session.clock import iso, milliseconds, moment

_TALK = ("user", "assistant")


def end(case: Case) -> Repaired:
    """Say to the client that it shall go on from what was said last."""
    last = case.entries[-1]
    graph, rows = case.session.graph, case.session.file.entries
    below = [rows[index] for index in graph.below(last.index) if rows[index].type != "progress"]
    leaf = max(below, key=lambda row: row.index)
    return Repaired(_from(case, leaf), len(case.entries), "it goes on from what was said last now")


def mark(case: Case) -> Repaired:
    """Name the entry from which the client goes on anyway."""
    if case.view.refusal is not None:
        return Repaired(case.draft, 0, case.view.refusal)
    return Repaired(_from(case, case.session.leaf()), 1, "the entry that it goes on from is named again")


def _from(case: Case, leaf: Entry) -> Draft:
    uuid = leaf.uuid or ""
    return case.draft.adding(going_on(uuid, last_prompt(case.session, uuid), case.session.session_id or ""))


def preserved(case: Case) -> Repaired:
    """What a compaction kept, without the messages that are not there: one of them would lose all."""
    lost = {spot.detail for spot in case.spots}
    boundary = case.entries[0]
    facts = case.session.body(boundary)["compactMetadata"]
    messages = facts["preservedMessages"]
    lists = {
        key: [uuid for uuid in value if str(uuid) not in lost]
        for key, value in messages.items()
        if isinstance(value, list)
    }
    left: Body = {key: value for key, value in facts.items() if key not in ("preservedMessages", "preservedSegment")}
    if lists.get("uuids"):
        left["preservedMessages"] = {**messages, **lists}
    draft = case.draft.changing({case.places[boundary.index]: {"compactMetadata": left}})
    kept = len(lists.get("uuids", []))
    return Repaired(draft, len(lost), f"no longer named by the compaction, which still has {kept:,} of what it kept")


def refusal(case: Case) -> Repaired:
    """Whatever keeps the client from finding a conversation: side chains only, no times, a mark inside a side chain."""
    main = [row for row in case.session.file.entries if row.type in _TALK and not row.is_sidechain and row.message]
    if not main:
        return _of_sub_agent(case)
    changes = _times(case)
    draft = case.draft.changing(changes)
    told = [f"{len(changes):,} entries without a valid time have one"] if changes else []
    named = case.session.file.by_uuid.get(_named(case) or "", -1)
    if named >= 0 and case.session.file.entries[named].is_sidechain and main[-1].uuid:
        draft = draft.adding(going_on(main[-1].uuid, None, case.session.session_id or ""))
        told.append("it goes on from the last entry outside of side chains")
    return Repaired(draft, len(told), ", ".join(told) or "nothing in it is a prompt or an answer")


def _named(case: Case) -> str | None:
    """The entry that the client's mark names."""
    prompts = (entry for entry in reversed(case.session.file.entries) if entry.type == "last-prompt")
    found = next((uuid for entry in prompts if (uuid := case.session.body(entry).get("leafUuid"))), None)
    return found if isinstance(found, str) else None


def _of_sub_agent(case: Case) -> Repaired:
    """A file that is a sub-agent's becomes one of a conversation of its own."""
    rows = [row for row in case.session.file.entries if row.is_sidechain]
    changes = {case.places[row.index]: {"isSidechain": False, "agentId": GONE} for row in rows}
    said = [row for row in rows if row.type in _TALK and row.message]
    if not said:
        return Repaired(case.draft, 0, "nothing in it is a prompt or an answer")
    return Repaired(case.draft.changing(changes), len(changes), "the sub-agent's entries are a conversation of its own")


def _times(case: Case) -> dict[int, dict[str, Any]]:
    """Times for entries that have no valid one: just behind the one before, or the next that has one, else now.

    Old clients go on from the newest time, and of two equal ones from the first.
    """
    rows = [(row, milliseconds(row.timestamp)) for row in case.session.graph.rows if not row.is_sidechain]
    given = [time for _, time in rows if time is not None]
    last = given[0] - len(rows) if given else datetime.now(UTC).timestamp() * 1000
    changes = {}
    for row, time in rows:
        last = last + 1 if time is None else time
        if time is None:
            changes[case.places[row.index]] = {"timestamp": iso(moment(last))}
    return changes
