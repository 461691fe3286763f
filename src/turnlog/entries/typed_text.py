"""The text that a person typed in a user entry, for listings that read only a few entries of a file."""

from __future__ import annotations

from typing import Any

from turnlog.entries.marks import classify_by_mark, separate_context, to_typed_text
from turnlog.entries.speakers import TYPING_SPEAKERS, identify_speaker, read_origin

MAX_LISTED_CHARS = 1000
"""Listings cut text off at this length, because a prompt may contain a pasted file."""


def read_typed_text(row: dict[str, Any]) -> str | None:
    """Return the text that a person typed in a user entry, without an editor's context, or None if there is none."""
    texts = [text for text in _list_texts(row) if text]
    if row.get("isCompactSummary") is True or not _is_typed(row, texts):
        return None
    if classify_by_mark(texts[0] if texts else "") in ("command", "bash"):
        return None
    is_declared = read_origin(row.get("origin")) is not None
    return "\n".join(text for text in texts if is_declared or classify_by_mark(text) is None)[:MAX_LISTED_CHARS] or None


def read_typed_command(row: dict[str, Any]) -> str | None:
    """Return the slash or `!` command in a user entry as it was typed."""
    texts = [text for text in _list_texts(row) if text]
    text = texts[0] if texts else ""
    if classify_by_mark(text) not in ("command", "bash") or not _is_typed(row, texts):
        return None
    command = to_typed_text(text)
    return command[:MAX_LISTED_CHARS] if command != text else None


def _is_typed(row: dict[str, Any], texts: list[str]) -> bool:
    is_meta = row.get("isMeta") is True
    return identify_speaker("\n".join(texts), row.get("origin"), is_meta=is_meta).kind in TYPING_SPEAKERS


def _list_texts(row: dict[str, Any]) -> list[str]:
    """Return the text blocks of an entry's message, each without the context at its start."""
    message = row.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [separate_context(content).rest]
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    return [separate_context(text).rest for text in texts if isinstance(text, str)]
