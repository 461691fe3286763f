"""Illnesses that affect resuming: the client refuses the session or shows only part of the conversation in the file."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from turnlog.edit.closing_entries import build_leaf_entry, find_last_prompt
from turnlog.edit.draft import Draft
from turnlog.edit.illnesses.illness import TALK_TYPES, Illness, RepairAttempt, RepairCase, Symptoms, SymptomSpot
from turnlog.edit.illnesses.parent_finder import ParentFinder
from turnlog.edit.illnesses.parents import LOST_LINK_CAUSE, REWIND_REMEDY, attach_orphans
from turnlog.edit.illnesses.resume_view import ResumeView
from turnlog.entries.entry import Body, Entry
from turnlog.entries.patch import REMOVE_KEY
from turnlog.session.clock import parse_timestamp, to_epoch_milliseconds, to_iso_time
from turnlog.session.graph import is_said

# -- detection


def detect_refusal(view: ResumeView, symptoms: Symptoms) -> None:
    """Check whether the client refuses the session; a sub-agent's file or a file with only titles gets only a note."""
    if view.refusal is not None:
        talks = any(row.type in TALK_TYPES and not row.is_sidechain for row in view.session.file.entries)
        symptoms.note("refused", "error" if talks else "info", view.refusal)


def detect_hidden_beginning(view: ResumeView, symptoms: Symptoms) -> None:
    """Detect a resume that shows only the end of the conversation."""
    lost = len(view.hidden_before)
    if not lost:
        return
    top = view.chain[0]
    if view.walk_end == "missing" or not (top.type == "user" and is_said(top)):
        text = f"{lost:,} prompts and answers before this entry are not shown: the chain of parents ends here"
        symptoms.add("hidden-tail", "error", text, [SymptomSpot(top, detail=top.parent_uuid or "")])
    else:
        text = f"{lost:,} prompts and answers before this prompt are not shown: it starts over"
        symptoms.add_items("hidden-tail", "info", text, [top])


def detect_hidden_end(view: ResumeView, symptoms: Symptoms) -> None:
    """Detect a resume that continues from a point before the last message."""
    text = "said after the entry that a resume continues from, and not shown"
    symptoms.add_items("hidden-end", "warning", text, view.hidden_after)


def detect_hidden_answers(view: ResumeView, symptoms: Symptoms) -> None:
    """Find answers that were skipped because the conversation continued from the client's own line beside them."""
    for above, row in pairwise(view.chain):
        if row.type in ("system", "attachment"):
            beside = (view.rows.rows[key] for key in view.rows.children.get(above.uuid, []))
            hidden = [other for other in beside if _is_hidden_answer(view, other)]
            text = "an answer is beside a line of the client, and the conversation continued from that line"
            symptoms.add(
                "hidden-answer", "warning", text, [SymptomSpot(other, detail=row.uuid or "") for other in hidden]
            )


def _is_hidden_answer(view: ResumeView, row: Entry) -> bool:
    return row.type == "assistant" and row.index not in view.members and not row.is_api_error_message


def detect_stale_parent(view: ResumeView, symptoms: Symptoms) -> None:
    """Find an entry after the last compaction that continues from an entry before that compaction."""
    place, boundary = view.rows.place, view.rows.boundary
    for above, row in pairwise(view.chain):
        if place[above.uuid] < boundary < place[row.uuid] and not _is_cut(view, boundary):
            text = "an entry continues from before the last compaction"
            symptoms.add("stale-parent", "warning", text, [SymptomSpot(row, detail=above.uuid or "")])


def _is_cut(view: ResumeView, boundary: int) -> bool:
    """Return whether the client leaves out everything before the last compaction, except what the compaction kept."""
    last = next(row for row in view.rows.rows.values() if view.rows.place[row.uuid] == boundary)
    return any(row.index < last.index and row.uuid not in view.rows.rows for row in view.session.graph.rows)


def detect_lost_preserved(view: ResumeView, symptoms: Symptoms) -> None:
    """Find missing messages that the last compaction kept; if one is missing, the client shows none of them."""
    session = view.session
    for boundary in session.graph.compactions[-1:]:
        metadata = session.read_body(boundary).get("compactMetadata")
        kept = metadata.get("preservedMessages") if isinstance(metadata, dict) else None
        uuids = kept.get("uuids") if isinstance(kept, dict) else None
        named = map(str, uuids) if isinstance(uuids, list) else ()
        lost = [uuid for uuid in named if uuid not in session.file.by_uuid]
        text = "the last compaction kept a message that is not in the file; the client then shows none of those it kept"
        symptoms.add("lost-preserved", "error", text, [SymptomSpot(boundary, detail=uuid) for uuid in lost])


def detect_bad_last_prompt(view: ResumeView, symptoms: Symptoms) -> None:
    """Find a last-entry mark that refers to an entry that is not in the file."""
    session = view.session
    marks = [entry for entry in session.file.entries if entry.type == "last-prompt"]
    for entry in reversed(marks):
        uuid = session.read_body(entry).get("leafUuid")
        if isinstance(uuid, str):
            if uuid not in session.file.by_uuid and uuid.strip("0-"):
                text = "the client's mark of the last entry names one that is not in the file"
                symptoms.add("lost-leaf", "info", text, [SymptomSpot(entry, detail=uuid)])
            return


# -- repair: what the client refuses


def repair_refusal(case: RepairCase) -> RepairAttempt:
    """Repair what hides the conversation: only side chains, no valid times, or a mark inside a side chain."""
    main = [row for row in case.session.file.entries if row.type in TALK_TYPES and not row.is_sidechain and row.message]
    if not main:
        return _adopt_agent_file(case)
    changes = _invent_times(case)
    draft = case.draft.with_changes(changes)
    words = [f"gave {len(changes):,} entries a valid time"] if changes else []
    named = case.session.file.by_uuid.get(_find_marked_entry(case) or "", -1)
    if named >= 0 and case.session.file.entries[named].is_sidechain and main[-1].uuid:
        draft = draft.with_added_lines(build_leaf_entry(main[-1].uuid, None, case.session.session_id or ""))
        words.append("it continues from the last entry outside of side chains")
    return RepairAttempt(draft, len(words), ", ".join(words) or "nothing in it is a prompt or an answer")


def _find_marked_entry(case: RepairCase) -> str | None:
    """Return the entry that the client's mark refers to."""
    prompts = (entry for entry in reversed(case.session.file.entries) if entry.type == "last-prompt")
    marked = next((uuid for entry in prompts if (uuid := case.session.read_body(entry).get("leafUuid"))), None)
    return marked if isinstance(marked, str) else None


def _adopt_agent_file(case: RepairCase) -> RepairAttempt:
    """Turn a sub-agent's file into a separate conversation."""
    rows = [row for row in case.session.file.entries if row.is_sidechain]
    changes = {case.places[row.index]: {"isSidechain": False, "agentId": REMOVE_KEY} for row in rows}
    messages = [row for row in rows if row.type in TALK_TYPES and row.message]
    if not messages:
        return RepairAttempt(case.draft, 0, "nothing in it is a prompt or an answer")
    return RepairAttempt(
        case.draft.with_changes(changes), len(changes), "turned the sub-agent's entries into a conversation of its own"
    )


def _invent_times(case: RepairCase) -> dict[int, dict[str, Any]]:
    """Choose times for entries without a valid one: just after the previous entry, before the first valid time, or now.

    Old clients continue from the entry with the newest time or, if there are several, from the first of these.
    """
    rows = [(row, to_epoch_milliseconds(row.timestamp)) for row in case.session.graph.rows if not row.is_sidechain]
    valid = [time for _, time in rows if time is not None]
    last = valid[0] - len(rows) if valid else datetime.now(UTC).timestamp() * 1000
    changes = {}
    for row, time in rows:
        last = last + 1 if time is None else time
        if time is None:
            changes[case.places[row.index]] = {"timestamp": to_iso_time(parse_timestamp(last))}
    return changes


REFUSED = Illness(
    "refused",
    "“No conversation found with session ID …”",
    "nothing outside of sub-agents in the file is a prompt or answer with a time",
    repair_refusal,
)
HIDDEN_TAIL = Illness(
    "hidden-tail",
    "Resuming shows only the end of the conversation although the file is complete.",
    LOST_LINK_CAUSE,
    attach_orphans,
    remedy_if_noted=REWIND_REMEDY,
)


# -- repair: where the session continues


def repair_end(case: RepairCase) -> RepairAttempt:
    """Mark the last message as the entry to continue from."""
    last = case.entries[-1]
    graph, rows = case.session.graph, case.session.file.entries
    below = [rows[index] for index in graph.list_descendants(last.index) if rows[index].type != "progress"]
    leaf = max(below, key=lambda row: row.index)
    return RepairAttempt(_mark_leaf(case, leaf), len(case.entries), "it now continues from what was said last")


def repair_leaf_mark(case: RepairCase) -> RepairAttempt:
    """Mark the entry from which the client would continue anyway."""
    if case.view.refusal is not None:
        return RepairAttempt(case.draft, 0, case.view.refusal)
    return RepairAttempt(_mark_leaf(case, case.session.find_leaf()), 1, "named the entry that it continues from again")


def _mark_leaf(case: RepairCase, leaf: Entry) -> Draft:
    uuid = leaf.uuid or ""
    return case.draft.with_added_lines(
        build_leaf_entry(uuid, find_last_prompt(case.session, uuid), case.session.session_id or "")
    )


HIDDEN_END = Illness(
    "hidden-end",
    "Resuming goes back in time: what was said last is not shown.",
    "something was added to the file without a mark of where to continue (`last-prompt`)",
    repair_end,
)
LOST_LEAF = Illness(
    "lost-leaf",
    "Nothing, as long as you want to continue from the last line of the file.",
    "the entry that the client's mark names was removed",
    repair_leaf_mark,
)


# -- repair: what the client skips


def move_after_answers(case: RepairCase) -> RepairAttempt:
    """Move one of the client's own lines after the answer beside it, unless a prompt follows that answer."""
    graph, rows = case.session.graph, case.session.file.entries
    attached: dict[int, Entry] = {}
    branches = 0
    for spot in case.spots:
        beside = case.session.file.by_uuid.get(spot.detail)
        if beside is None or not isinstance(spot.item, Entry):
            continue
        line = [rows[index] for index in sorted(graph.list_descendants(spot.item.index))]
        if any(row.type == "user" and is_said(row) for row in line):
            branches += 1
        else:
            attached[beside] = line[-1]
    words = ["moved what was beside the answer after it"] if attached else []
    words += [f"{branches:,} with a conversation below stay branches: `turnlog fork --at leaf:K`"] if branches else []
    draft = case.with_parents((rows[at], home) for at, home in attached.items())
    return RepairAttempt(draft, len(attached), "; ".join(words))


HIDDEN_ANSWER = Illness(
    "hidden-answer",
    "An answer that you have read is missing after a resume, and the model does not know about it.",
    "a line of the client was attached beside the answer, and everything later below that line (#88597)",
    move_after_answers,
)


def repair_stale_parents(case: RepairCase) -> RepairAttempt:
    """Attach entries that continue from before the last compaction to the entries after it."""
    finder, since = ParentFinder(case), case.session.graph.compactions[-1].index
    attached = [(row, home) for row in case.entries if (home := finder.find_parent(row, since)) is not None]
    return RepairAttempt(case.with_parents(attached), len(attached), "now continues from after the last compaction")


STALE_PARENT = Illness(
    "stale-parent",
    "After a resume the model remembers what was compacted, and has forgotten what came after.",
    "the client continued from an entry before the last compaction",
    repair_stale_parents,
)


def repair_preserved(case: RepairCase) -> RepairAttempt:
    """Remove missing messages from a compaction's list of kept ones; if one is missing, the client drops them all."""
    lost = {spot.detail for spot in case.spots}
    boundary = case.entries[0]
    metadata = case.session.read_body(boundary)["compactMetadata"]
    messages = metadata["preservedMessages"]
    lists = {
        key: [uuid for uuid in value if str(uuid) not in lost]
        for key, value in messages.items()
        if isinstance(value, list)
    }
    left: Body = {key: value for key, value in metadata.items() if key not in ("preservedMessages", "preservedSegment")}
    if lists.get("uuids"):
        left["preservedMessages"] = {**messages, **lists}
    draft = case.draft.with_changes({case.places[boundary.index]: {"compactMetadata": left}})
    kept = len(lists.get("uuids", []))
    return RepairAttempt(
        draft, len(lost), f"removed from the compaction's list, which still has {kept:,} of the messages it kept"
    )


LOST_PRESERVED = Illness(
    "lost-preserved",
    "After a resume the messages that the last compaction kept are missing.",
    "one of them was removed from the file; the client then keeps none",
    repair_preserved,
)
