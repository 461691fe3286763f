"""Repairs of blocks that the API refuses: thinking, images, names of tools."""

from __future__ import annotations

from typing import Any

from turnlog.edit.fork.tool_names import Names
from turnlog.edit.repairs.case import Case, Repaired
from turnlog.edit.repairs.emptied import without_blocks
from turnlog.entries.entry import Entry
from turnlog.session.resume.refusals import LONGEST_NAME, THINKING, name_fault
from turnlog.session.resume.rows import message_id
from turnlog.session.window.pieces import CUT

Json = dict[str, Any]


def thinking(case: Case) -> Repaired:
    """Without the thinking of answers of which some is refused: it is signed as a whole."""
    ill = {_answer(entry) for entry in case.entries}
    entries = [entry for entry in case.session.entries if _answer(entry) in ill and _thinks(entry)]
    made = without_blocks(case, entries, lambda _, block: block.get("type") in THINKING)
    words = f"the thinking of {len(ill):,} answers went: its signature can't be made again"
    return Repaired(made.draft, made.blocks, words)


def _thinks(entry: Entry) -> bool:
    return entry.type == "assistant" and any(
        b.type in THINKING for b in (entry.message.blocks if entry.message else [])
    )


def _answer(entry: Entry) -> str:
    return message_id(entry) or f"@{entry.offset}"


def images(case: Case) -> Repaired:
    """A text in the place of each image that is refused."""
    reasons = {
        (spot.item.index, spot.blocks): symptom.text
        for symptom in case.symptoms
        for spot in symptom.spots
        if isinstance(spot.item, Entry)
    }
    changes: dict[int, Json] = {}
    for entry in case.entries:
        message = case.session.body(entry)["message"]
        content = [
            _replaced(block, (number,), {path: why for (index, path), why in reasons.items() if index == entry.index})
            for number, block in enumerate(message["content"])
        ]
        changes[case.places[entry.index]] = {"message": {**message, "content": content}}
    return Repaired(case.draft.changing(changes), len(reasons), "a text that says what was there stands in its place")


def _replaced(block: Any, path: tuple[int, ...], reasons: dict[tuple[int, ...], str]) -> Any:
    if path in reasons:
        return {"type": "text", "text": f"{CUT}{reasons[path]}{_size(block)}, was removed]"}
    if isinstance(block, dict) and isinstance(block.get("content"), list):
        inner = [_replaced(part, (*path, number), reasons) for number, part in enumerate(block["content"])]
        return {**block, "content": inner}
    return block


def _size(block: Any) -> str:
    source = block.get("source") if isinstance(block, dict) else None
    data = source.get("data") if isinstance(source, dict) else None
    return f", {len(data) * 3 // 4:,} bytes" if isinstance(data, str) else ""


def names(case: Case) -> Repaired:
    """Shorter names for tools, the same for all calls of one."""
    short = Names(LONGEST_NAME)
    changes: dict[int, Json] = {}
    for entry in case.entries:
        message = case.session.body(entry)["message"]
        content = [_named(block, short) for block in message["content"]]
        changes[case.places[entry.index]] = {"message": {**message, "content": content}}
    return Repaired(case.draft.changing(changes), len(case.spots), "renamed in letters that the API takes")


def _named(block: Any, short: Names) -> Any:
    if not isinstance(block, dict) or block.get("type") != "tool_use" or name_fault(block.get("name")) is None:
        return block
    return {**block, "name": short.tool(block["name"])}
