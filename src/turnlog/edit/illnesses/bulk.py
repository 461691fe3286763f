"""Illnesses caused by size: results of several megabytes, and files that consist mostly of progress reports."""

from __future__ import annotations

from typing import Any

from turnlog.edit.illnesses.illness import Illness, RepairAttempt, RepairCase, Symptoms, SymptomSpot
from turnlog.edit.illnesses.resume_view import ResumeView
from turnlog.entries.entry import Body
from turnlog.session.graph import holds_result

GIANT_RESULT_BYTES = 1 << 20
"""The size, not counting images, at which a result counts as giant."""
MIN_BLOAT_BYTES = 1 << 20
"""The size at which progress reports become a problem."""
_KEPT_CHARS_STEPS = (100_000, 10_000, 500, 0)
"""Numbers of characters to keep from each string; the first number that makes the result short enough is used."""
_RESULT_COPY_KEY = "toolUseResult"


# -- giant results


def detect_giant_results(view: ResumeView, symptoms: Symptoms) -> None:
    """Find results that make every resume slow."""
    for row in view.session.entries:
        if row.type == "user" and row.size > GIANT_RESULT_BYTES and holds_result(row):
            size = _count_letters(view.session.read_body(row))
            if size > GIANT_RESULT_BYTES:
                text = "a result of more than a megabyte"
                symptoms.add(
                    "giant-result", "warning", text, [SymptomSpot(row, detail=f"{size / GIANT_RESULT_BYTES:.1f} MB")]
                )


def _count_text_letters(value: Any) -> int:
    """Count the characters in all strings of a JSON value, not counting images."""
    total, todo = 0, [value]
    while todo:
        inner = todo.pop()
        if isinstance(inner, str):
            total += len(inner)
        elif isinstance(inner, list):
            todo += inner
        elif isinstance(inner, dict) and inner.get("type") not in ("base64", "image"):
            todo += inner.values()
    return total


def shorten_giant_results(case: RepairCase) -> RepairAttempt:
    """Shorten results that are too long, and the client's copies of them, to their beginning and end."""
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
    from turnlog.edit.strip import content_cut  # imported late: a diagnosis starts faster without it

    message: Any = body.get("message")
    content = [_shorten_block(block, longest) for block in message["content"]]
    shortened: Body = {"message": {**message, "content": content}}
    return (
        {**shortened, _RESULT_COPY_KEY: content_cut.cut_copy(body[_RESULT_COPY_KEY], longest)}
        if _RESULT_COPY_KEY in body
        else shortened
    )


def _shorten_block(block: Any, longest: int) -> Any:
    if isinstance(block, dict) and block.get("type") == "tool_result" and "content" in block:
        return {**block, "content": _shorten_texts(block["content"], longest)}
    return block


def _shorten_texts(content: Any, longest: int) -> Any:
    """Shorten content as `cut_content` does, but keep images, which don't cause this problem."""
    from turnlog.edit.strip import content_cut

    if not isinstance(content, list):
        return content_cut.cut_content(content, longest)
    return [
        block
        if isinstance(block, dict) and block.get("type") in content_cut.PICTURE_TYPES
        else content_cut.cut_content([block], longest)[0]
        for block in content
    ]


def _count_letters(body: Body) -> int:
    """Count the characters in a message and in the client's copy of its result, not counting images."""
    return _count_text_letters(body.get("message")) + _count_text_letters(body.get(_RESULT_COPY_KEY))


GIANT_RESULT = Illness(
    "giant-result",
    "Resuming takes a long time or hangs; the context is full at once.",
    "a tool returned megabytes, and the client kept them (#24118, #21120)",
    shorten_giant_results,
)


# -- progress reports


def detect_progress_bloat(view: ResumeView, symptoms: Symptoms) -> None:
    """Find files that consist mostly of progress reports."""
    entries = view.session.file.entries
    rows = [entry for entry in entries if entry.type == "progress"]
    size, whole = sum(row.size for row in rows), sum(entry.size for entry in entries)
    if size >= MIN_BLOAT_BYTES and size * 2 >= whole:
        text = f"{size / MIN_BLOAT_BYTES:.1f} of {whole / MIN_BLOAT_BYTES:.1f} MB are progress reports"
        symptoms.add_items("progress-bloat", "warning", text, rows)


def drop_progress(case: RepairCase) -> RepairAttempt:
    """Remove progress reports, and attach their children to the reports' parents."""
    removed = {case.places[entry.index] for entry in case.entries}
    size = sum(entry.size for entry in case.entries)
    return RepairAttempt(
        case.draft.without_rows(removed),
        len(removed),
        f"removed {size / GIANT_RESULT_BYTES:.1f} MB of progress reports",
    )


PROGRESS_BLOAT = Illness(
    "progress-bloat",
    "Resuming takes a long time although the conversation is short.",
    "clients from 2.1.11 to 2.1.81 wrote every step of sub-agents and hooks into the file (#23373, #24457)",
    drop_progress,
)
