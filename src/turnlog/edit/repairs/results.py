"""Repairs of calls and results: what is missing is made up, what answers nothing goes, what came late comes in time."""

from __future__ import annotations

from typing import Any

from turnlog.edit.draft import Draft, DraftRow
from turnlog.edit.id_renewal import create_uuid
from turnlog.edit.repairs.block_removal import drop_blocks
from turnlog.edit.repairs.case import RepairAttempt, RepairCase
from turnlog.entries.entry import Body, Entry
from turnlog.entries.patch import REMOVE_KEY
from turnlog.session.graph import get_message_id
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


def answer_open_calls(case: RepairCase) -> RepairAttempt:
    """An error directly behind each call that has no result."""
    calls: dict[int, list[str]] = {}
    for spot in case.spots:
        if isinstance(spot.item, Entry) and spot.item.uuid and not spot.detail.startswith("@"):
            calls.setdefault(spot.item.index, []).append(spot.detail)
    behind: dict[int, list[DraftRow]] = {}
    for index in sorted(calls):
        call = case.session.file.entries[index]
        end = _find_end_of_answer(case.session, call)
        behind.setdefault(end.index, []).append(
            DraftRow(None, _build_lost_result(case.session.read_body(call), end, calls[index]))
        )
    draft = _insert_rows(case.draft, behind)
    count = sum(map(len, calls.values()))
    words = "an error stands behind each: whether it was carried out is not known"
    return RepairAttempt(draft, count, words if count else "the call, or its entry, has no id that a result could name")


def drop_orphan_results(case: RepairCase) -> RepairAttempt:
    """Without results that answer no call."""
    wanted: dict[int, set[str]] = {}
    for spot in case.spots:
        if isinstance(spot.item, Entry):
            wanted.setdefault(spot.item.index, set()).add(spot.detail)

    def goes(entry: Entry, block: Body) -> bool:
        return block.get("type") == "tool_result" and _get_answered_call(block) in wanted[entry.index]

    made = drop_blocks(case, case.entries, goes)
    return RepairAttempt(made.draft, made.blocks, "went: what they answer is not in the file; the source has them")


def _get_answered_call(block: Body) -> str:
    """The call that a result answers; nothing if it says none."""
    identity = block.get("tool_use_id")
    return identity if isinstance(identity, str) else ""


def move_late_results(case: RepairCase) -> RepairAttempt:
    """Results directly behind their calls."""
    draft, count = case.draft, 0
    calls = {call.id: call.line for call in case.session.calls}
    for entry in case.entries:
        wanted = {spot.detail for spot in case.spots if spot.item is entry}
        call = next((calls[identity] for identity in wanted if calls[identity].uuid), None)
        if call is not None and entry.uuid is not None:
            draft = _move_results(draft, entry, wanted, _find_end_of_answer(case.session, call))
            count += len(wanted)
    return RepairAttempt(draft, count, "moved directly behind their calls")


def _find_end_of_answer(session: Session, call: Entry) -> Entry:
    """The last line of the answer that a call is part of, as far as these lines hang on each other."""
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


def _insert_rows(draft: Draft, behind: dict[int, list[DraftRow]]) -> Draft:
    """With rows behind some entries, in a line; what hung on these, other than their own messages, hangs on its end."""
    places = draft.map_entry_places()
    ends = {draft.get_uuid(draft.rows[places[index]]): index for index in behind}
    rows: list[DraftRow] = []
    for row in draft.rows:
        index = ends.get(draft.get_parent_uuid(row))
        if index is not None and not _stays_on_answer(row, draft.rows[places[index]].entry):
            row = _with_parent(row, draft.get_uuid(behind[index][-1]))
        rows.append(row)
        if row.entry is not None and row.entry.index in behind:
            last = draft.get_uuid(row)
            for new in behind[row.entry.index]:
                rows.append(_with_parent(new, last))
                last = draft.get_uuid(new)
    return draft._replace(rows=tuple(rows))


def _with_parent(row: DraftRow, uuid: str | None) -> DraftRow:
    return row._replace(changed={**row.changed, "parentUuid": uuid})


def _stays_on_answer(row: DraftRow, end: Entry | None) -> bool:
    """Whether a row that hangs on the end of an answer goes on doing so: a part of it, or a side chain."""
    if row.entry is None or end is None:
        return False
    identity = get_message_id(end)
    return bool(row.entry.is_sidechain) or (identity is not None and get_message_id(row.entry) == identity)


def _move_results(draft: Draft, entry: Entry, wanted: set[str], end: Entry) -> Draft:
    """With the results of an entry directly behind another one; the rest of it stays where it is."""
    at = draft.map_entry_places()[entry.index]
    row = draft.rows[at]
    results, rest = _split_results(draft.get_value(row, "message"), wanted)
    if not rest:
        draft = draft.without_rows({at})
        return _insert_rows(draft, {end.index: [row]})
    message = draft.get_value(row, "message")
    stays = {
        "message": {**message, "content": rest},
        "toolUseResult": REMOVE_KEY,
        "sourceToolAssistantUUID": REMOVE_KEY,
    }
    body = {**draft.get_body(row), "message": {**message, "content": results}, "uuid": create_uuid()}
    return _insert_rows(draft.with_changes({at: stays}), {end.index: [DraftRow(None, body)]})


def _split_results(message: Any, wanted: set[str]) -> tuple[list[Any], list[Any]]:
    """The results of some calls in a message, and all else."""
    found: tuple[list[Any], list[Any]] = ([], [])
    for block in message["content"]:
        is_result = (
            isinstance(block, dict) and block.get("type") == "tool_result" and _get_answered_call(block) in wanted
        )
        found[0 if is_result else 1].append(block)
    return found
