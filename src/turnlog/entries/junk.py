"""Files that the client leaves behind and that do not contain a conversation.

    empty           nothing at all (2.0.x writes an empty file for every resumed session)
    summary-only    titles of other sessions (1.0.x)
    metadata-only   no user or assistant entry
    warm-up         a sub-agent that was started only to warm a cache (2.0.x)
    sidechain-only  entries from sub-agents but none from the main conversation

A file counts as junk only if that is certain, so a file with a broken line never does. If the start of a file contains
no conversation, the whole file is searched for one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from turnlog.entries.file_ends import MAX_END_BYTES, open_regular_file, split_lines
from turnlog.entries.line_decoder import decode_first_object
from turnlog.entries.spread_values import join_lines, split_values

_PARENT_FIRST = b'{"parentUuid":'
_READ_BYTES = 1 << 20
_SIDECHAIN_SEARCH_BYTES = 120
"""The client writes `isSidechain` right after the parent, so most sub-agent entries need not be decoded."""


def name_junk_kind(data: bytes) -> str | None:
    """Return what kind of junk a file with these bytes is, or None if it may contain a conversation."""
    lines = split_values(data)
    return _judge_lines(lines, lines)


def name_junk_kind_of_file(path: str | Path) -> str | None:
    """Return what kind of junk a large file is; raises only `OSError`."""
    fd, _ = open_regular_file(path)
    with os.fdopen(fd, "rb", _READ_BYTES) as file:
        first = split_lines(file.read(MAX_END_BYTES))
        file.seek(0)
        return _judge_lines(join_lines(file), join_lines(first))


def is_warm_up(lines: Iterable[bytes]) -> bool:
    """Return whether the first user entry is the prompt for a warm-up sub-agent."""
    for line in lines:
        row = decode_first_object(line) if b'"user"' in line else None
        if row and row.get("type") == "user":
            return row.get("isSidechain") is True and read_prompt_content(row) == "Warmup"
    return False


def read_prompt_content(row: dict[str, Any]) -> object:
    """Return the content of an entry's message, whatever its type."""
    message = row.get("message")
    return message.get("content") if isinstance(message, dict) else None


def _judge_lines(lines: Iterable[bytes], first: Iterable[bytes]) -> str | None:
    kinds: set[object] = set()
    for line in lines:
        if line.startswith(_PARENT_FIRST) and b'"isSidechain":true,' in line[:_SIDECHAIN_SEARCH_BYTES]:
            kinds.add("assistant")
            continue
        if not line.strip(b" \t\r\n\0"):
            continue
        row = decode_first_object(line)
        if row is None:
            return None
        kind = row.get("type")
        if kind in ("user", "assistant") and row.get("isSidechain") is not True:
            return None
        kinds.add(kind if isinstance(kind, str) else None)
    if not kinds:
        return "empty"
    if "user" in kinds or "assistant" in kinds:
        return "warm-up" if is_warm_up(first) else "sidechain-only"
    return "summary-only" if kinds == {"summary"} else "metadata-only"
