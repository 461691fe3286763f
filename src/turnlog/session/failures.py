"""Decides whether a call failed: by `is_error` on its result or, if that is missing, by the client's text for failures.

Exporters and older recorders drop `is_error` but keep the client's text: `Exit code N` on the first line for a failed
command, or the whole text inside `<tool_use_error>`. A command that succeeded can print the same text, so the client's
own record (`toolUseResult`) is also considered: the client stores an object or a list only for a success.
"""

from __future__ import annotations

import re
from typing import Protocol

from turnlog.entries.entry import Body, Entry

_EXIT_CODE = re.compile(r"(?:Error: )?Exit code [1-9]\d{0,2}[ \t]*(?:\r?\n|\Z)")
_ERROR_TAG, _ERROR_END_TAG = "<tool_use_error>", "</tool_use_error>"
_FAILURE_MARKS = (b"Exit code ", b"tool_use_error")
_HEAD_BYTES = 1024
# The start of an entry with a result whose text begins like no failure; nothing before the message has braces.
_ORDINARY_HEAD = re.compile(
    rb'\{[^{]*"message":\{"role":"user","content":\[\{(?:"tool_use_id":"([^"\\]*)",|"type":"tool_result",){2}'
    rb'"content":(?:\[\{"type":"text","text":)?"[^E<"\\]'
)


class EntryBodies(Protocol):
    """Access to the bytes and decoded bodies of entries."""

    def read_raw(self, item: Entry) -> bytes:
        """Return the bytes of an entry."""

    def read_head(self, item: Entry, size: int) -> bytes:
        """Return at most `size` bytes from the start of an entry."""

    def read_body(self, entry: Entry) -> Body:
        """Return the whole object of an entry."""


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
    # Most results are long and no failures, which their first words show.
    head = _ORDINARY_HEAD.match(file.read_head(entry, _HEAD_BYTES))
    if head is not None and head[1].decode("utf-8", "replace") == call_id:
        return False
    raw = file.read_raw(entry)
    if not any(mark in raw for mark in _FAILURE_MARKS):
        return False
    body = file.read_body(entry)
    message = body.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    own = next((block for block in blocks if block.get("tool_use_id") == call_id), {})
    return has_failed(None, to_result_text(own.get("content")), body.get("toolUseResult"))


def to_result_text(content: object) -> str:
    """Join the text blocks of a result, with `[type]` in place of any other block."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    blocks = [block for block in content if isinstance(block, dict)]
    return "\n".join(str(b.get("text", "")) if b.get("type") == "text" else f"[{b.get('type')}]" for b in blocks)
