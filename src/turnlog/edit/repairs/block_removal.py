"""Taking blocks out of entries; an entry of which nothing is left goes, and what hung on it finds its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from turnlog.edit.draft import Draft
from turnlog.edit.repairs.case import RepairCase
from turnlog.edit.strip.new_parents import rehang_rows
from turnlog.entries.entry import Body, Entry
from turnlog.entries.patch import REMOVE_KEY


class EmptiedDraft(NamedTuple):
    """A draft without some blocks."""

    draft: Draft
    blocks: int
    """How many went."""


def drop_blocks(case: RepairCase, entries: Iterable[Entry], goes: Callable[[Entry, Body], bool]) -> EmptiedDraft:
    """Without the blocks of some entries that `goes` names."""
    changes: dict[int, dict[str, Any]] = {}
    emptied: set[int] = set()
    count = 0
    for entry in entries:
        at, body = case.places[entry.index], case.session.read_body(entry)
        content = body["message"]["content"]
        left = [block for block in content if not (isinstance(block, dict) and goes(entry, block))]
        count += len(content) - len(left)
        if not left:
            emptied.add(at)
        elif len(left) < len(content):
            changes[at] = {"message": {**body["message"], "content": left}, **_drop_result_copy(body, left)}
    draft, leaf = case.draft.with_changes(changes), case.view.chain[-1] if case.view.chain else None
    return EmptiedDraft(
        draft.with_changes(rehang_rows(draft, emptied, case.view.thread, leaf)).without_rows(emptied), count
    )


def _drop_result_copy(body: Body, left: list[Any]) -> dict[str, Any]:
    """The client's own copy of a result goes with the last one."""
    has_result = any(isinstance(block, dict) and block.get("type") == "tool_result" for block in left)
    return {"toolUseResult": REMOVE_KEY} if "toolUseResult" in body and not has_result else {}
