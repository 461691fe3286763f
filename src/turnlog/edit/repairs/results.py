"""Repairs of calls and results: what is missing is made up, what answers nothing goes, what came late comes in time."""

from __future__ import annotations

from typing import Any

from turnlog.edit.draft import Draft, Row
from turnlog.edit.identity import new_id
from turnlog.edit.repairs.case import Case, Repaired
from turnlog.edit.repairs.emptied import without_blocks
from turnlog.entries.entry import Body, Entry
from turnlog.entries.patch import GONE
from turnlog.session.resume.rows import message_id
from turnlog.session.session import Session

LOST = "[Tool call interrupted: the session file has no result for it; whether it was carried out is not known]"
_ENVELOPE = ("isSidechain", "userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug", "promptId")


def unanswered(case: Case) -> Repaired:
    """An error directly behind each call that has no result."""
    calls: dict[int, list[str]] = {}
    for spot in case.spots:
        if isinstance(spot.item, Entry) and spot.item.uuid and not spot.detail.startswith("@"):
            calls.setdefault(spot.item.index, []).append(spot.detail)
    behind: dict[int, list[Row]] = {}
    for index in sorted(calls):
        call = case.session.file.entries[index]
        end = _end_of_answer(case.session, call)
        behind.setdefault(end.index, []).append(Row(None, _made_up(case.session.body(call), end, calls[index])))
    draft = _inserted(case.draft, behind)
    count = sum(map(len, calls.values()))
    words = "an error stands behind each: whether it was carried out is not known"
    return Repaired(draft, count, words if count else "the call, or its entry, has no id that a result could name")


def orphans(case: Case) -> Repaired:
    """Without results that answer no call."""
    wanted: dict[int, set[str]] = {}
    for spot in case.spots:
        if isinstance(spot.item, Entry):
            wanted.setdefault(spot.item.index, set()).add(spot.detail)

    def goes(entry: Entry, block: Body) -> bool:
        return block.get("type") == "tool_result" and _answered(block) in wanted[entry.index]

    made = without_blocks(case, case.entries, goes)
    return Repaired(made.draft, made.blocks, "went: what they answer is not in the file; the source has them")


def _answered(block: Body) -> str:
    """The call that a result answers; nothing if it says none."""
    identity = block.get("tool_use_id")
    return identity if isinstance(identity, str) else ""


def late(case: Case) -> Repaired:
    """Results directly behind their calls."""
    draft, count = case.draft, 0
    calls = {call.id: call.line for call in case.session.calls}
    for entry in case.entries:
        wanted = {spot.detail for spot in case.spots if spot.item is entry}
        call = next((calls[identity] for identity in wanted if calls[identity].uuid), None)
        if call is not None and entry.uuid is not None:
            draft = _moved(draft, entry, wanted, _end_of_answer(case.session, call))
            count += len(wanted)
    return Repaired(draft, count, "moved directly behind their calls")


def _end_of_answer(session: Session, call: Entry) -> Entry:
    """The last line of the answer that a call is part of, as far as these lines hang on each other."""
    identity, end = message_id(call), call
    seen = {call.index}
    while identity is not None:
        below = (session.file.entries[index] for index in session.graph.children(end.index))
        same = [row for row in below if message_id(row) == identity and row.index not in seen and row.uuid]
        if not same:
            break
        end = same[-1]
        seen.add(end.index)
    return end


def _made_up(call: Body, end: Entry, calls: list[str]) -> Body:
    blocks = [{"type": "tool_result", "tool_use_id": identity, "content": LOST, "is_error": True} for identity in calls]
    return {
        "parentUuid": end.uuid,
        **{key: call[key] for key in _ENVELOPE if key in call},
        "type": "user",
        "message": {"role": "user", "content": blocks},
        "uuid": new_id(),
        "timestamp": end.timestamp or call.get("timestamp"),
        "toolUseResult": f"Error: {LOST}",
        "sourceToolAssistantUUID": call.get("uuid"),
    }


def _inserted(draft: Draft, behind: dict[int, list[Row]]) -> Draft:
    """With rows behind some entries, in a line; what hung on these, other than their own messages, hangs on its end."""
    places = draft.places()
    ends = {draft.uuid(draft.rows[places[index]]): index for index in behind}
    rows: list[Row] = []
    for row in draft.rows:
        index = ends.get(draft.parent(row))
        if index is not None and not _stays(row, draft.rows[places[index]].entry):
            row = _below(row, draft.uuid(behind[index][-1]))
        rows.append(row)
        if row.entry is not None and row.entry.index in behind:
            last = draft.uuid(row)
            for new in behind[row.entry.index]:
                rows.append(_below(new, last))
                last = draft.uuid(new)
    return draft._replace(rows=tuple(rows))


def _below(row: Row, uuid: str | None) -> Row:
    return row._replace(changed={**row.changed, "parentUuid": uuid})


def _stays(row: Row, end: Entry | None) -> bool:
    """Whether a row that hangs on the end of an answer goes on doing so: a part of it, or a side chain."""
    if row.entry is None or end is None:
        return False
    identity = message_id(end)
    return bool(row.entry.is_sidechain) or (identity is not None and message_id(row.entry) == identity)


def _moved(draft: Draft, entry: Entry, wanted: set[str], end: Entry) -> Draft:
    """With the results of an entry directly behind another one; the rest of it stays where it is."""
    at = draft.places()[entry.index]
    row = draft.rows[at]
    results, rest = _split(draft.value(row, "message"), wanted)
    if not rest:
        draft = draft.without({at})
        return _inserted(draft, {end.index: [row]})
    message = draft.value(row, "message")
    stays = {"message": {**message, "content": rest}, "toolUseResult": GONE, "sourceToolAssistantUUID": GONE}
    body = {**draft.body(row), "message": {**message, "content": results}, "uuid": new_id()}
    return _inserted(draft.changing({at: stays}), {end.index: [Row(None, body)]})


def _split(message: Any, wanted: set[str]) -> tuple[list[Any], list[Any]]:
    """The results of some calls in a message, and all else."""
    found: tuple[list[Any], list[Any]] = ([], [])
    for block in message["content"]:
        is_result = isinstance(block, dict) and block.get("type") == "tool_result" and _answered(block) in wanted
        found[0 if is_result else 1].append(block)
    return found
