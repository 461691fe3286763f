"""Decides whether a call failed: by `is_error` on its result or, if that is missing, by the client's text for failures.

Exporters and older recorders drop `is_error` but keep the client's text: `Exit code N` on the first line for a failed
command, or the whole text inside `<tool_use_error>`. A command that succeeded can print the same text, so the client's
own record (`toolUseResult`) is also considered: the client stores an object or a list only for a success.
"""

from __future__ import annotations

import re

from turnlog.entries.entry import Entry
from turnlog.session.line_blocks import EntryBodies, is_crowded, read_line_blocks

_EXIT_CODE = re.compile(r"(?:Error: )?Exit code [1-9]\d{0,2}[ \t]*(?:\r?\n|\Z)")
_ERROR_TAG, _ERROR_END_TAG = "<tool_use_error>", "</tool_use_error>"
_FAILURE_MARKS = (b"Exit code ", b"tool_use_error")
_HEAD_BYTES = 1024
# The start of an entry with a result whose text begins like no failure; nothing before the message has braces.
_ORDINARY_HEAD = re.compile(
    rb'\{[^{]*"message":\{"role":"user","content":\[\{(?:"tool_use_id":"([^"\\]*)",|"type":"tool_result",){2}'
    rb'"content":(?:\[\{"type":"text","text":)?"[^E<"\\]'
)


def has_failed(stated: object, text: str, record: object) -> bool:
    """Return whether a result is a failure, given its `is_error` (`stated`) and its `toolUseResult` (`record`)."""
    if stated is not None:
        return bool(stated)
    if text.startswith(_ERROR_TAG):
        return _ERROR_END_TAG in text and (record is None or isinstance(record, str))
    if _EXIT_CODE.match(text) is None:
        return False
    return record is None or (isinstance(record, str) and record.startswith("Error: "))


def has_failed_entry(file: EntryBodies, entry: Entry, call_id: str | None, stated: bool | None) -> bool:
    """Return whether an entry contains a failure, decoding it only if its bytes suggest one."""
    if stated is not None:
        return stated
    if not is_crowded(entry) and not _may_have_failed(file, entry, call_id):
        return False
    line = read_line_blocks(file, entry)
    own = line.results.get(call_id, {})
    return has_failed(None, to_result_text(own.get("content")), line.body.get("toolUseResult"))


def _may_have_failed(file: EntryBodies, entry: Entry, call_id: str | None) -> bool:
    # Most results are long and no failures, which their first words show.
    head = _ORDINARY_HEAD.match(file.read_head(entry, _HEAD_BYTES))
    if head is not None and head[1].decode("utf-8", "replace") == call_id:
        return False
    raw = file.read_raw(entry)
    return any(mark in raw for mark in _FAILURE_MARKS)


def to_result_text(content: object) -> str:
    """Join the text blocks of a result, with `[type]` in place of any other block."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    blocks = [block for block in content if isinstance(block, dict)]
    return "\n".join(str(b.get("text", "")) if b.get("type") == "text" else f"[{b.get('type')}]" for b in blocks)
