"""Repairs of size: giant results are shortened, reports of progress go."""

from __future__ import annotations

from typing import Any

from turnlog.edit.repairs.case import Case, Repaired
from turnlog.edit.strip import cut
from turnlog.entries.entry import Body
from turnlog.session.health.bulk import GIANT, letters

_LENGTHS = (100_000, 10_000, 500, 0)
"""So many letters of each text stay: the first that is short enough."""
_COPY = "toolUseResult"


def results(case: Case) -> Repaired:
    """The head and the tail of results that are too long, and of the client's own copies."""
    changes: dict[int, Body] = {}
    for entry in case.entries:
        body = case.session.body(entry)
        changes[case.places[entry.index]] = next(
            (short for longest in _LENGTHS if _size(short := _shortened(body, longest)) <= GIANT // 2),
            _shortened(body, _LENGTHS[-1]),
        )
    return Repaired(case.draft.changing(changes), len(changes), "shortened to head and tail; the source has the rest")


def _shortened(body: Body, longest: int) -> Body:
    message: Any = body.get("message")
    content = [_block(block, longest) for block in message["content"]]
    found: Body = {"message": {**message, "content": content}}
    return {**found, _COPY: cut.copied(body[_COPY], longest)} if _COPY in body else found


def _block(block: Any, longest: int) -> Any:
    if isinstance(block, dict) and block.get("type") == "tool_result" and "content" in block:
        return {**block, "content": _texts(block["content"], longest)}
    return block


def _texts(content: Any, longest: int) -> Any:
    """As `cut.content`, but images stay: they are not what is too long."""
    if not isinstance(content, list):
        return cut.content(content, longest)
    return [
        block if isinstance(block, dict) and block.get("type") in cut.PICTURES else cut.content([block], longest)[0]
        for block in content
    ]


def _size(changes: Body) -> int:
    return letters(changes["message"]) + letters(changes.get(_COPY))


def progress(case: Case) -> Repaired:
    """Without reports of progress; what hung on them hangs on what they hung on."""
    gone = {case.places[entry.index] for entry in case.entries}
    size = sum(entry.size for entry in case.entries)
    return Repaired(case.draft.without(gone), len(gone), f"reports of progress went, {size / GIANT:.1f} MB")
