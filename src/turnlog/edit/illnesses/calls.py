"""Illnesses of calls and results: a call has no result, a result has no call, or something separates the two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnlog.edit.draft import Draft, DraftRow
from turnlog.edit.id_renewal import create_uuid
from turnlog.edit.illnesses.illness import Illness, RepairAttempt, RepairCase, Symptoms, SymptomSpot
from turnlog.edit.illnesses.resume_view import ResumeView
from turnlog.entries.entry import Body, Entry
from turnlog.entries.patch import REMOVE_KEY
from turnlog.session.check import Severity
from turnlog.session.graph import get_message_id
from turnlog.session.resume.conversation import build_thread_conversation
from turnlog.session.session import Session

LOST_RESULT_TEXT = (
    "[Tool call interrupted: the session file has no result for it; whether it was carried out is not known]"
)
_ENVELOPE_KEYS = (
    "isSidechain",
    "userType",
    "entrypoint",
    "cwd",
    "sessionId",
    "version",
    "gitBranch",
    "slug",
    "promptId",
)


# -- detection


def detect_unmatched_calls(view: ResumeView, symptoms: Symptoms) -> None:
    """Find calls without results, results without calls, and results that come too late."""
    session = view.session
    last = session.messages[-1].key if session.messages else None
    for call in session.calls:
        if call.result is None and call.message != last:
            spot = SymptomSpot(call.line, _find_block_place(call.line, "tool_use", call.id), call.id)
            symptoms.add("unanswered-call", _choose_severity(view, call.line), "a call has no result", [spot])
    for row in session.orphans:
        symptoms.add(
            "orphan-result",
            _choose_severity(view, row),
            "a result answers no call",
            _list_orphaned_results(session, row),
        )
    late = _find_late_calls(view)
    for call in session.calls:
        if call.id in late and call.result is not None:
            spot = SymptomSpot(call.result, _find_block_place(call.result, "tool_result", call.id), call.id)
            symptoms.add("late-result", "warning", "a result does not come directly after its call", [spot])


def _choose_severity(view: ResumeView, row: Entry) -> Severity:
    """Return the severity, which is only `info` on a branch that is not resumed."""
    return "warning" if row.index in view.members else "info"


def _find_block_place(row: Entry, kind: str, identity: str) -> tuple[int, ...]:
    for number, block in enumerate(row.message.blocks if row.message else []):
        if block.type == kind and identity in (block.id, block.tool_use_id):
            return (number,)
    return ()


def _list_orphaned_results(session: Session, row: Entry) -> Iterator[SymptomSpot]:
    known = {call.id for call in session.calls}
    for number, block in enumerate(row.message.blocks if row.message else []):
        if block.type == "tool_result" and block.tool_use_id not in known:
            yield SymptomSpot(row, (number,), block.tool_use_id or "")


def _find_late_calls(view: ResumeView) -> set[str]:
    """Find calls that would be sent without a result even though the file contains one."""
    if not _is_disordered(view.thread):  # avoids building the whole conversation
        return set()
    results = {call.id: call.result for call in view.session.calls if call.result is not None}
    thread = view.session.build_thread()
    messages = build_thread_conversation(view.session.file, thread).messages
    late: set[str] = set()
    for number, message in enumerate(messages[:-1]):
        answered = {
            block.get("tool_use_id")
            for block in messages[number + 1]["content"]
            if _is_block_kind(block, "tool_result")
        }
        for block in message["content"] if message["role"] == "assistant" else []:
            identity = block.get("id")
            if _is_block_kind(block, "tool_use") and isinstance(identity, str) and identity not in answered:
                row = results.get(identity)
                late.update({identity} if row is not None and row.index in view.members else ())
    return late


def _is_disordered(rows: list[Entry]) -> bool:
    """Return whether a message comes between a call and its result, or a result comes before its call."""
    waiting: set[str | None] = set()
    speaker: str | None = None
    for row in rows:
        blocks = row.message.blocks if row.message and row.type in ("user", "assistant") else []
        results = {block.tool_use_id for block in blocks if block.type == "tool_result"}
        if results - waiting or (
            waiting and blocks and not results and (row.type, get_message_id(row)) != ("assistant", speaker)
        ):
            return True
        waiting -= results
        waiting |= {block.id for block in blocks if block.type == "tool_use"}
        speaker = get_message_id(row) if row.type == "assistant" else speaker
    return False


def _is_block_kind(block: Body, kind: str) -> bool:
    return block["type"] == kind and not isinstance(block.get("tool_use_id"), dict | list)


# -- repair


def answer_open_calls(case: RepairCase) -> RepairAttempt:
    """Add an error result directly after each call that has no result."""
    calls: dict[int, list[str]] = {}
    for spot in case.spots:
        if isinstance(spot.item, Entry) and spot.item.uuid and not spot.detail.startswith("@"):
            calls.setdefault(spot.item.index, []).append(spot.detail)
    new_rows: dict[int, list[DraftRow]] = {}
    for index in sorted(calls):
        call = case.session.file.entries[index]
        end = _find_end_of_answer(case.session, call)
        new_rows.setdefault(end.index, []).append(
            DraftRow(None, _build_lost_result(case.session.read_body(call), end, calls[index]))
        )
    draft = _insert_rows(case.draft, new_rows)
    count = sum(map(len, calls.values()))
    words = "added an error result to each: it is unknown whether the call ran"
    return RepairAttempt(draft, count, words if count else "the call, or its entry, has no id that a result could name")


UNANSWERED_CALL = Illness(
    "unanswered-call",
    "The call is missing after a resume, and from 2.1.45 on the words before it too; clients older than 2.0.50 may get"
    " “API Error: 400 … `tool_use` ids were found without `tool_result` blocks immediately after”.",
    "the client ended while a tool ran (#9346, #1894, #45286)",
    answer_open_calls,
)


def drop_orphan_results(case: RepairCase) -> RepairAttempt:
    """Remove results that don't belong to any call."""
    wanted: dict[int, set[str]] = {}
    for spot in case.spots:
        if isinstance(spot.item, Entry):
            wanted.setdefault(spot.item.index, set()).add(spot.detail)

    def is_orphan(entry: Entry, block: Body) -> bool:
        return block.get("type") == "tool_result" and _get_answered_call(block) in wanted[entry.index]

    emptied = case.drop_blocks(case.entries, is_orphan)
    return RepairAttempt(
        emptied.draft, emptied.blocks, "removed: what they answer is not in the file; the source has them"
    )


def _get_answered_call(block: Body) -> str:
    """Return the id of the call that a result answers, or an empty string if it names none."""
    identity = block.get("tool_use_id")
    return identity if isinstance(identity, str) else ""


ORPHAN_RESULT = Illness(
    "orphan-result",
    "The result is missing after a resume; clients up to 2.0.76 send it, and get “API Error: 400 … unexpected"
    " `tool_use_id` found in `tool_result` blocks”.",
    "the call was never written, or was removed",
    drop_orphan_results,
)


def move_late_results(case: RepairCase) -> RepairAttempt:
    """Move results so that they directly follow their calls."""
    draft, count = case.draft, 0
    calls = {call.id: call.line for call in case.session.calls}
    for entry in case.entries:
        wanted = {spot.detail for spot in case.spots if spot.item is entry}
        call = next((calls[identity] for identity in wanted if calls[identity].uuid), None)
        if call is not None and entry.uuid is not None:
            draft = _move_results(draft, entry, wanted, _find_end_of_answer(case.session, call))
            count += len(wanted)
    return RepairAttempt(draft, count, "moved directly after their calls")


LATE_RESULT = Illness(
    "late-result",
    "Words between a call and its result come after the result when you resume; clients up to 2.0.76 get “API Error:"
    " 400 … `tool_use` ids were found without `tool_result` blocks immediately after”.",
    "something else was written between a call and its result",
    move_late_results,
)


def _find_end_of_answer(session: Session, call: Entry) -> Entry:
    """Return the last consecutive line of the answer that contains a call."""
    identity, end = get_message_id(call), call
    seen = {call.index}
    while identity is not None:
        below = (session.file.entries[index] for index in session.graph.list_children(end.index))
        same = [row for row in below if get_message_id(row) == identity and row.index not in seen and row.uuid]
        if not same:
            break
        end = same[-1]
        seen.add(end.index)
    return end


def _build_lost_result(call: Body, end: Entry, calls: list[str]) -> Body:
    blocks = [
        {"type": "tool_result", "tool_use_id": identity, "content": LOST_RESULT_TEXT, "is_error": True}
        for identity in calls
    ]
    return {
        "parentUuid": end.uuid,
        **{key: call[key] for key in _ENVELOPE_KEYS if key in call},
        "type": "user",
        "message": {"role": "user", "content": blocks},
        "uuid": create_uuid(),
        "timestamp": end.timestamp or call.get("timestamp"),
        "toolUseResult": f"Error: {LOST_RESULT_TEXT}",
        "sourceToolAssistantUUID": call.get("uuid"),
    }


def _insert_rows(draft: Draft, new_rows: dict[int, list[DraftRow]]) -> Draft:
    """Insert rows after some entries, and attach messages that followed those entries to the new rows."""
    places = draft.map_entry_places()
    ends = {draft.get_uuid(draft.rows[places[index]]): index for index in new_rows}
    rows: list[DraftRow] = []
    for row in draft.rows:
        index = ends.get(draft.get_parent_uuid(row))
        if index is not None and not _stays_on_answer(row, draft.rows[places[index]].entry):
            row = _with_parent(row, draft.get_uuid(new_rows[index][-1]))
        rows.append(row)
        if row.entry is not None and row.entry.index in new_rows:
            last = draft.get_uuid(row)
            for new in new_rows[row.entry.index]:
                rows.append(_with_parent(new, last))
                last = draft.get_uuid(new)
    return draft._replace(rows=tuple(rows))


def _with_parent(row: DraftRow, uuid: str | None) -> DraftRow:
    return row._replace(changed={**row.changed, "parentUuid": uuid})


def _stays_on_answer(row: DraftRow, end: Entry | None) -> bool:
    """Return whether a child of an answer's last line keeps its parent, as part of the answer or as a side chain."""
    if row.entry is None or end is None:
        return False
    identity = get_message_id(end)
    return bool(row.entry.is_sidechain) or (identity is not None and get_message_id(row.entry) == identity)


def _move_results(draft: Draft, entry: Entry, wanted: set[str], end: Entry) -> Draft:
    """Move the results in an entry so that they directly follow another entry; the rest of the entry is not moved."""
    at = draft.map_entry_places()[entry.index]
    row = draft.rows[at]
    results, rest = _split_results(draft.get_value(row, "message"), wanted)
    if not rest:
        draft = draft.without_rows({at})
        return _insert_rows(draft, {end.index: [row]})
    message = draft.get_value(row, "message")
    remaining = {
        "message": {**message, "content": rest},
        "toolUseResult": REMOVE_KEY,
        "sourceToolAssistantUUID": REMOVE_KEY,
    }
    body = {**draft.get_body(row), "message": {**message, "content": results}, "uuid": create_uuid()}
    return _insert_rows(draft.with_changes({at: remaining}), {end.index: [DraftRow(None, body)]})


def _split_results(message: Any, wanted: set[str]) -> tuple[list[Any], list[Any]]:
    """Separate the results for some calls in a message from the rest of the message."""
    parts: tuple[list[Any], list[Any]] = ([], [])
    for block in message["content"]:
        is_result = (
            isinstance(block, dict) and block.get("type") == "tool_result" and _get_answered_call(block) in wanted
        )
        parts[0 if is_result else 1].append(block)
    return parts
