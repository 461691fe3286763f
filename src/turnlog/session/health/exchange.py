"""Symptoms in calls and results, and in what the API refuses of what would be sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnlog.entries.entry import Entry
from turnlog.session.graph import get_message_id
from turnlog.session.health.symptoms import Severity, Symptoms, SymptomSpot
from turnlog.session.resume.refusals import (
    MANY_IMAGES,
    THINKING_TYPES,
    find_image_fault,
    find_thinking_fault,
    find_tool_name_fault,
)
from turnlog.session.resume_view import ResumeView
from turnlog.session.session import Session

Json = dict[str, Any]


def detect_unmatched_calls(view: ResumeView, found: Symptoms) -> None:
    """Calls without results, results without calls, and results that stand too late."""
    session = view.session
    last = session.messages[-1].key if session.messages else None
    for call in session.calls:
        if call.result is None and call.message != last:
            spot = SymptomSpot(call.line, _find_block_place(call.line, "tool_use", call.id), call.id)
            found.add("unanswered-call", _choose_severity(view, call.line), "a call has no result", [spot])
    for row in session.orphans:
        found.add(
            "orphan-result",
            _choose_severity(view, row),
            "a result answers no call",
            _list_orphaned_results(session, row),
        )
    late = _find_late_calls(view)
    for call in session.calls:
        if call.id in late and call.result is not None:
            spot = SymptomSpot(call.result, _find_block_place(call.result, "tool_result", call.id), call.id)
            found.add("late-result", "warning", "a result does not stand directly behind its call", [spot])


def _choose_severity(view: ResumeView, row: Entry) -> Severity:
    """On a branch that is not resumed, nothing of this harms."""
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
    """Calls that would be sent without the result that the file has for them."""
    if not _is_disordered(view.thread):  # spares putting the whole conversation together
        return set()
    results = {call.id: call.result for call in view.session.calls if call.result is not None}
    messages = view.session.conversation().messages
    late: set[str] = set()
    for number, message in enumerate(messages[:-1]):
        given = {
            block.get("tool_use_id")
            for block in messages[number + 1]["content"]
            if _is_block_kind(block, "tool_result")
        }
        for block in message["content"] if message["role"] == "assistant" else []:
            identity = block.get("id")
            if _is_block_kind(block, "tool_use") and isinstance(identity, str) and identity not in given:
                row = results.get(identity)
                late.update({identity} if row is not None and row.index in view.members else ())
    return late


def _is_disordered(rows: list[Entry]) -> bool:
    """Whether anything is said between a call and its result, or a result stands before its call."""
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


def _is_block_kind(block: Json, kind: str) -> bool:
    return block["type"] == kind and not isinstance(block.get("tool_use_id"), dict | list)


def detect_bad_tool_names(view: ResumeView, found: Symptoms) -> None:
    """Names of tools that the API refuses."""
    for row in view.session.entries:
        for number, block in enumerate(row.message.blocks if row.message and row.type == "assistant" else []):
            if block.type == "tool_use" and (fault := find_tool_name_fault(block.name)):
                severity: Severity = "error" if row.index in view.members else "info"
                found.add("long-tool-name", severity, fault, [SymptomSpot(row, (number,), (block.name or "")[:200])])


def detect_bad_thinking(view: ResumeView, found: Symptoms) -> None:
    """Thinking that the API refuses; that of another provider's model does no harm as long as that one answers."""
    spoken = {_get_message_key(row) for row in view.thread if _says_more(row)}
    for row, path, block in _list_blocks(view, "assistant"):
        if (
            block.get("type") in THINKING_TYPES
            and _get_message_key(row) in spoken
            and (fault := find_thinking_fault(block))
        ):
            model = row.message.model if row.message else None
            is_claude = model is None or model.startswith(("claude", "<"))
            text = fault if is_claude else f"{fault}, of another provider's model"
            found.add("bad-thinking", "error" if is_claude else "info", text, [SymptomSpot(row, path)])


def _get_message_key(row: Entry) -> str:
    return get_message_id(row) or f"@{row.offset}"


def _says_more(row: Entry) -> bool:
    """Whether an answer holds more than thinking: the client does not send what was broken off there."""
    return row.type == "assistant" and any(
        b.type not in THINKING_TYPES for b in (row.message.blocks if row.message else [])
    )


def detect_bad_images(view: ResumeView, found: Symptoms) -> None:
    """Images that the API refuses."""
    shown = [(row, path, block) for row, path, block in _list_blocks(view, "user") if block.get("type") == "image"]
    for row, path, block in shown:
        if fault := find_image_fault(block, of_many=len(shown) > MANY_IMAGES):
            found.add("bad-image", "error", fault, [SymptomSpot(row, path)])


def _list_blocks(view: ResumeView, kind: str) -> Iterator[tuple[Entry, tuple[int, ...], Json]]:
    """The blocks of the entries that would be resumed, those inside results too, each with its place."""
    wanted = THINKING_TYPES if kind == "assistant" else ("image", "tool_result")
    for row in view.thread:
        if row.type != kind or row.message is None or not any(block.type in wanted for block in row.message.blocks):
            continue
        for number, block in enumerate(_get_content(view.session.read_body(row).get("message"))):
            if isinstance(block, dict):
                yield row, (number,), block
                for inner, part in enumerate(_get_content(block)):
                    if isinstance(part, dict):
                        yield row, (number, inner), part


def _get_content(holder: object) -> list[Any]:
    content = holder.get("content") if isinstance(holder, dict) else None
    return content if isinstance(content, list) else []
