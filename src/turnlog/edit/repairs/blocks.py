"""Repairs of blocks that the API refuses: thinking, images, names of tools."""

from __future__ import annotations

from typing import Any

from turnlog.edit.fork.api_names import ApiNames
from turnlog.edit.repairs.block_removal import drop_blocks
from turnlog.edit.repairs.case import RepairAttempt, RepairCase
from turnlog.entries.entry import Entry
from turnlog.session.graph import get_message_id
from turnlog.session.resume.refusals import MAX_TOOL_NAME_CHARS, THINKING_TYPES, find_tool_name_fault
from turnlog.session.window.pieces import CUT_MARK

Json = dict[str, Any]


def repair_thinking(case: RepairCase) -> RepairAttempt:
    """Without the thinking of answers of which some is refused: it is signed as a whole."""
    ill = {_get_answer_key(entry) for entry in case.entries}
    entries = [entry for entry in case.session.entries if _get_answer_key(entry) in ill and _has_thinking(entry)]
    made = drop_blocks(case, entries, lambda _, block: block.get("type") in THINKING_TYPES)
    words = f"the thinking of {len(ill):,} answers went: its signature can't be made again"
    return RepairAttempt(made.draft, made.blocks, words)


def _has_thinking(entry: Entry) -> bool:
    return entry.type == "assistant" and any(
        b.type in THINKING_TYPES for b in (entry.message.blocks if entry.message else [])
    )


def _get_answer_key(entry: Entry) -> str:
    return get_message_id(entry) or f"@{entry.offset}"


def repair_images(case: RepairCase) -> RepairAttempt:
    """A text in the place of each image that is refused."""
    reasons = {
        (spot.item.index, spot.blocks): symptom.text
        for symptom in case.symptoms
        for spot in symptom.spots
        if isinstance(spot.item, Entry)
    }
    changes: dict[int, Json] = {}
    for entry in case.entries:
        message = case.session.read_body(entry)["message"]
        content = [
            _replace_images(
                block, (number,), {path: why for (index, path), why in reasons.items() if index == entry.index}
            )
            for number, block in enumerate(message["content"])
        ]
        changes[case.places[entry.index]] = {"message": {**message, "content": content}}
    return RepairAttempt(
        case.draft.with_changes(changes), len(reasons), "a text that says what was there stands in its place"
    )


def _replace_images(block: Any, path: tuple[int, ...], reasons: dict[tuple[int, ...], str]) -> Any:
    if path in reasons:
        return {"type": "text", "text": f"{CUT_MARK}{reasons[path]}{_format_data_size(block)}, was removed]"}
    if isinstance(block, dict) and isinstance(block.get("content"), list):
        inner = [_replace_images(part, (*path, number), reasons) for number, part in enumerate(block["content"])]
        return {**block, "content": inner}
    return block


def _format_data_size(block: Any) -> str:
    source = block.get("source") if isinstance(block, dict) else None
    data = source.get("data") if isinstance(source, dict) else None
    return f", {len(data) * 3 // 4:,} bytes" if isinstance(data, str) else ""


def repair_tool_names(case: RepairCase) -> RepairAttempt:
    """Shorter names for tools, the same for all calls of one."""
    short = ApiNames(MAX_TOOL_NAME_CHARS)
    changes: dict[int, Json] = {}
    for entry in case.entries:
        message = case.session.read_body(entry)["message"]
        content = [_rename_tool(block, short) for block in message["content"]]
        changes[case.places[entry.index]] = {"message": {**message, "content": content}}
    return RepairAttempt(case.draft.with_changes(changes), len(case.spots), "renamed in letters that the API takes")


def _rename_tool(block: Any, short: ApiNames) -> Any:
    if (
        not isinstance(block, dict)
        or block.get("type") != "tool_use"
        or find_tool_name_fault(block.get("name")) is None
    ):
        return block
    return {**block, "name": short.convert_tool_name(block["name"])}
