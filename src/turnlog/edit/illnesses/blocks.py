"""Illnesses caused by blocks that the API refuses: thinking, images and tool names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnlog.edit.api_names import ApiNames
from turnlog.edit.illnesses.illness import Illness, RepairAttempt, RepairCase, Symptoms, SymptomSpot
from turnlog.edit.illnesses.resume_view import ResumeView
from turnlog.entries.entry import Body, Entry
from turnlog.session.check import Severity
from turnlog.session.graph import get_message_id
from turnlog.session.resume.refusals import (
    MANY_IMAGES,
    MAX_TOOL_NAME_CHARS,
    THINKING_TYPES,
    find_image_fault,
    find_thinking_fault,
    find_tool_name_fault,
)

# -- thinking


def detect_bad_thinking(view: ResumeView, symptoms: Symptoms) -> None:
    """Find thinking that the API refuses; another provider's thinking is harmless if that provider's model answers."""
    answers = {_get_message_key(row) for row in view.thread if _says_more(row)}
    for row, path, block in _list_blocks(view, "assistant"):
        if (
            block.get("type") in THINKING_TYPES
            and _get_message_key(row) in answers
            and (fault := find_thinking_fault(block))
        ):
            model = row.message.model if row.message else None
            is_claude = model is None or model.startswith(("claude", "<"))
            text = fault if is_claude else f"{fault}, of another provider's model"
            symptoms.add("bad-thinking", "error" if is_claude else "info", text, [SymptomSpot(row, path)])


def _get_message_key(row: Entry) -> str:
    return get_message_id(row) or f"@{row.offset}"


def _says_more(row: Entry) -> bool:
    """Return whether an answer contains anything besides thinking; otherwise the client does not send it."""
    return row.type == "assistant" and any(
        b.type not in THINKING_TYPES for b in (row.message.blocks if row.message else [])
    )


def repair_thinking(case: RepairCase) -> RepairAttempt:
    """Remove all thinking from an answer if any of it is refused, because it is signed as a whole."""
    ill = {_get_message_key(entry) for entry in case.entries}
    entries = [entry for entry in case.session.entries if _get_message_key(entry) in ill and _has_thinking(entry)]
    emptied = case.drop_blocks(entries, lambda _, block: block.get("type") in THINKING_TYPES)
    words = f"removed the thinking of {len(ill):,} answers: its signature can't be recreated"
    return RepairAttempt(emptied.draft, emptied.blocks, words)


def _has_thinking(entry: Entry) -> bool:
    return entry.type == "assistant" and any(
        b.type in THINKING_TYPES for b in (entry.message.blocks if entry.message else [])
    )


BAD_THINKING = Illness(
    "bad-thinking",
    "“API Error: 400 … Invalid `signature` in `thinking` block”",
    "another provider's model, a proxy or an edit wrote thinking without a valid signature (#21726, #10199)",
    repair_thinking,
    refused_blocks=frozenset({"thinking", "redacted_thinking"}),
)


# -- images


def detect_bad_images(view: ResumeView, symptoms: Symptoms) -> None:
    """Find images that the API refuses."""
    images = [(row, path, block) for row, path, block in _list_blocks(view, "user") if block.get("type") == "image"]
    for row, path, block in images:
        if fault := find_image_fault(block, of_many=len(images) > MANY_IMAGES):
            symptoms.add("bad-image", "error", fault, [SymptomSpot(row, path)])


def repair_images(case: RepairCase) -> RepairAttempt:
    """Replace each refused image with text."""
    reasons = {
        (spot.item.index, spot.blocks): symptom.text
        for symptom in case.symptoms
        for spot in symptom.spots
        if isinstance(spot.item, Entry)
    }
    changes: dict[int, Body] = {}
    for entry in case.entries:
        message = case.session.read_body(entry)["message"]
        content = [
            _replace_images(
                block, (number,), {path: reason for (index, path), reason in reasons.items() if index == entry.index}
            )
            for number, block in enumerate(message["content"])
        ]
        changes[case.places[entry.index]] = {"message": {**message, "content": content}}
    return RepairAttempt(case.draft.with_changes(changes), len(reasons), "replaced by a text that says what was there")


def _replace_images(block: Any, path: tuple[int, ...], reasons: dict[tuple[int, ...], str]) -> Any:
    if path in reasons:
        from turnlog.session.window.pieces import CUT_MARK  # imported late: a diagnosis starts faster without it

        return {"type": "text", "text": f"{CUT_MARK}{reasons[path]}{_format_data_size(block)}, was removed]"}
    if isinstance(block, dict) and isinstance(block.get("content"), list):
        inner = [_replace_images(part, (*path, number), reasons) for number, part in enumerate(block["content"])]
        return {**block, "content": inner}
    return block


def _format_data_size(block: Any) -> str:
    source = block.get("source") if isinstance(block, dict) else None
    data = source.get("data") if isinstance(source, dict) else None
    return f", {len(data) * 3 // 4:,} bytes" if isinstance(data, str) else ""


BAD_IMAGE = Illness(
    "bad-image",
    "“API Error: 400 … Could not process image”, and every further prompt fails in the same way.",
    "an image is too large, damaged, or not of the type that it claims to be (#13480, #16173, #34025, #55200)",
    repair_images,
    refused_blocks=frozenset({"image", "document", "tool_result"}),  # a result may contain images
)


def _list_blocks(view: ResumeView, kind: str) -> Iterator[tuple[Entry, tuple[int, ...], Body]]:
    """Yield the blocks in the entries that would be resumed, including blocks inside results, each with its path."""
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


# -- tool names


def detect_bad_tool_names(view: ResumeView, symptoms: Symptoms) -> None:
    """Find tool names that the API refuses."""
    for row in view.session.entries:
        for number, block in enumerate(row.message.blocks if row.message and row.type == "assistant" else []):
            if block.type == "tool_use" and (fault := find_tool_name_fault(block.name)):
                severity: Severity = "error" if row.index in view.members else "info"
                symptoms.add("long-tool-name", severity, fault, [SymptomSpot(row, (number,), (block.name or "")[:200])])


def repair_tool_names(case: RepairCase) -> RepairAttempt:
    """Give tools valid names, using the same name for all calls to a tool."""
    short = ApiNames(MAX_TOOL_NAME_CHARS)
    changes: dict[int, Body] = {}
    for entry in case.entries:
        message = case.session.read_body(entry)["message"]
        content = [_rename_tool(block, short) for block in message["content"]]
        changes[case.places[entry.index]] = {"message": {**message, "content": content}}
    return RepairAttempt(case.draft.with_changes(changes), len(case.spots), "renamed to names that the API accepts")


def _rename_tool(block: Any, short: ApiNames) -> Any:
    if (
        not isinstance(block, dict)
        or block.get("type") != "tool_use"
        or find_tool_name_fault(block.get("name")) is None
    ):
        return block
    return {**block, "name": short.convert_tool_name(block["name"])}


LONG_TOOL_NAME = Illness(
    "long-tool-name",
    "“API Error: 400 … tool_use.name: String should have at most 200 characters”",
    "the model wrote something else in place of a tool's name",
    repair_tool_names,
)
