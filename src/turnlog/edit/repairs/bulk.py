"""Repairs of size: giant results are shortened, reports of progress go."""

from __future__ import annotations

from typing import Any

from turnlog.edit.repairs.case import RepairAttempt, RepairCase
from turnlog.edit.strip import content_cut
from turnlog.entries.entry import Body
from turnlog.session.health.bulk import GIANT_RESULT_BYTES, count_letters_without_images

_KEPT_CHARS_STEPS = (100_000, 10_000, 500, 0)
"""So many letters of each text stay: the first that is short enough."""
_RESULT_COPY_KEY = "toolUseResult"


def shorten_giant_results(case: RepairCase) -> RepairAttempt:
    """The head and the tail of results that are too long, and of the client's own copies."""
    changes: dict[int, Body] = {}
    for entry in case.entries:
        body = case.session.read_body(entry)
        changes[case.places[entry.index]] = next(
            (
                short
                for longest in _KEPT_CHARS_STEPS
                if _count_letters(short := _shorten_body(body, longest)) <= GIANT_RESULT_BYTES // 2
            ),
            _shorten_body(body, _KEPT_CHARS_STEPS[-1]),
        )
    return RepairAttempt(
        case.draft.with_changes(changes), len(changes), "shortened to head and tail; the source has the rest"
    )


def _shorten_body(body: Body, longest: int) -> Body:
    message: Any = body.get("message")
    content = [_shorten_block(block, longest) for block in message["content"]]
    found: Body = {"message": {**message, "content": content}}
    return (
        {**found, _RESULT_COPY_KEY: content_cut.cut_copy(body[_RESULT_COPY_KEY], longest)}
        if _RESULT_COPY_KEY in body
        else found
    )


def _shorten_block(block: Any, longest: int) -> Any:
    if isinstance(block, dict) and block.get("type") == "tool_result" and "content" in block:
        return {**block, "content": _shorten_texts(block["content"], longest)}
    return block


def _shorten_texts(content: Any, longest: int) -> Any:
    """As `cut.content`, but images stay: they are not what is too long."""
    if not isinstance(content, list):
        return content_cut.cut_content(content, longest)
    return [
        block
        if isinstance(block, dict) and block.get("type") in content_cut.PICTURE_TYPES
        else content_cut.cut_content([block], longest)[0]
        for block in content
    ]


def _count_letters(changes: Body) -> int:
    return count_letters_without_images(changes["message"]) + count_letters_without_images(
        changes.get(_RESULT_COPY_KEY)
    )


def drop_progress(case: RepairCase) -> RepairAttempt:
    """Without reports of progress; what hung on them hangs on what they hung on."""
    gone = {case.places[entry.index] for entry in case.entries}
    size = sum(entry.size for entry in case.entries)
    return RepairAttempt(
        case.draft.without_rows(gone), len(gone), f"reports of progress went, {size / GIANT_RESULT_BYTES:.1f} MB"
    )
