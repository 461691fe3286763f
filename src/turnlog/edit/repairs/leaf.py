"""Repairs of where a session goes on: its end, what a compaction kept, and what the client refuses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from turnlog.edit.closing_entries import build_leaf_entry
from turnlog.edit.draft import Draft
from turnlog.edit.fork.fork import find_last_prompt
from turnlog.edit.repairs.case import RepairAttempt, RepairCase
from turnlog.entries.entry import Body, Entry
from turnlog.entries.patch import REMOVE_KEY
from turnlog.session.clock import parse_timestamp, to_epoch_milliseconds, to_iso_time

_TALK_TYPES = ("user", "assistant")


def repair_end(case: RepairCase) -> RepairAttempt:
    """Say to the client that it shall go on from what was said last."""
    last = case.entries[-1]
    graph, rows = case.session.graph, case.session.file.entries
    below = [rows[index] for index in graph.list_descendants(last.index) if rows[index].type != "progress"]
    leaf = max(below, key=lambda row: row.index)
    return RepairAttempt(_mark_leaf(case, leaf), len(case.entries), "it goes on from what was said last now")


def repair_leaf_mark(case: RepairCase) -> RepairAttempt:
    """Name the entry from which the client goes on anyway."""
    if case.view.refusal is not None:
        return RepairAttempt(case.draft, 0, case.view.refusal)
    return RepairAttempt(_mark_leaf(case, case.session.find_leaf()), 1, "the entry that it goes on from is named again")


def _mark_leaf(case: RepairCase, leaf: Entry) -> Draft:
    uuid = leaf.uuid or ""
    return case.draft.with_added_lines(
        build_leaf_entry(uuid, find_last_prompt(case.session, uuid), case.session.session_id or "")
    )


def repair_preserved(case: RepairCase) -> RepairAttempt:
    """What a compaction kept, without the messages that are not there: one of them would lose all."""
    lost = {spot.detail for spot in case.spots}
    boundary = case.entries[0]
    facts = case.session.read_body(boundary)["compactMetadata"]
    messages = facts["preservedMessages"]
    lists = {
        key: [uuid for uuid in value if str(uuid) not in lost]
        for key, value in messages.items()
        if isinstance(value, list)
    }
    left: Body = {key: value for key, value in facts.items() if key not in ("preservedMessages", "preservedSegment")}
    if lists.get("uuids"):
        left["preservedMessages"] = {**messages, **lists}
    draft = case.draft.with_changes({case.places[boundary.index]: {"compactMetadata": left}})
    kept = len(lists.get("uuids", []))
    return RepairAttempt(
        draft, len(lost), f"no longer named by the compaction, which still has {kept:,} of what it kept"
    )


def repair_refusal(case: RepairCase) -> RepairAttempt:
    """Whatever keeps the client from finding a conversation: side chains only, no times, a mark inside a side chain."""
    main = [
        row for row in case.session.file.entries if row.type in _TALK_TYPES and not row.is_sidechain and row.message
    ]
    if not main:
        return _adopt_agent_file(case)
    changes = _make_up_times(case)
    draft = case.draft.with_changes(changes)
    told = [f"{len(changes):,} entries without a valid time have one"] if changes else []
    named = case.session.file.by_uuid.get(_find_marked_entry(case) or "", -1)
    if named >= 0 and case.session.file.entries[named].is_sidechain and main[-1].uuid:
        draft = draft.with_added_lines(build_leaf_entry(main[-1].uuid, None, case.session.session_id or ""))
        told.append("it goes on from the last entry outside of side chains")
    return RepairAttempt(draft, len(told), ", ".join(told) or "nothing in it is a prompt or an answer")


def _find_marked_entry(case: RepairCase) -> str | None:
    """The entry that the client's mark names."""
    prompts = (entry for entry in reversed(case.session.file.entries) if entry.type == "last-prompt")
    found = next((uuid for entry in prompts if (uuid := case.session.read_body(entry).get("leafUuid"))), None)
    return found if isinstance(found, str) else None


def _adopt_agent_file(case: RepairCase) -> RepairAttempt:
    """A file that is a sub-agent's becomes one of a conversation of its own."""
    rows = [row for row in case.session.file.entries if row.is_sidechain]
    changes = {case.places[row.index]: {"isSidechain": False, "agentId": REMOVE_KEY} for row in rows}
    said = [row for row in rows if row.type in _TALK_TYPES and row.message]
    if not said:
        return RepairAttempt(case.draft, 0, "nothing in it is a prompt or an answer")
    return RepairAttempt(
        case.draft.with_changes(changes), len(changes), "the sub-agent's entries are a conversation of its own"
    )


def _make_up_times(case: RepairCase) -> dict[int, dict[str, Any]]:
    """Times for entries that have no valid one: just behind the one before, or the next that has one, else now.

    Old clients go on from the newest time, and of two equal ones from the first.
    """
    rows = [(row, to_epoch_milliseconds(row.timestamp)) for row in case.session.graph.rows if not row.is_sidechain]
    given = [time for _, time in rows if time is not None]
    last = given[0] - len(rows) if given else datetime.now(UTC).timestamp() * 1000
    changes = {}
    for row, time in rows:
        last = last + 1 if time is None else time
        if time is None:
            changes[case.places[row.index]] = {"timestamp": to_iso_time(parse_timestamp(last))}
    return changes
