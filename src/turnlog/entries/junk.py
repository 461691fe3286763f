"""Files that the client leaves behind and that hold no conversation.

    empty           nothing at all: 2.0.x writes one for every resumed session
    summary-only    titles of other sessions: 1.0.x
    metadata-only   no user or assistant entry
    warm-up         a sub-agent that was only started to warm a cache: 2.0.x
    sidechain-only  entries of sub-agents and none of the main conversation

Said only where it can be proved: not of a file with a broken line. A file without a conversation at its beginning is
read until one is found.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from turnlog.entries.decode import first_object
from turnlog.entries.window import WINDOW, lines_of, open_regular

_PARENT_FIRST = b'{"parentUuid":'
_READ_BYTES = 1 << 20
_EARLY = 120
"""The client writes `isSidechain` right behind the parent: most entries of a sub-agent need no decoding."""


def junk(data: bytes) -> str | None:
    """Name the kind of junk that the bytes of a whole file are; None if they may be a conversation."""
    lines = lines_of(data)
    return _judged(lines, lines)


def junk_of_file(path: str | Path) -> str | None:
    """Name the kind of junk that a large file is; raises `OSError` and nothing else."""
    fd, _ = open_regular(path)
    with os.fdopen(fd, "rb", _READ_BYTES) as file:
        first = lines_of(file.read(WINDOW))
        file.seek(0)
        return _judged(file, first)


def is_warm_up(lines: Iterable[bytes]) -> bool:
    """Say whether the first user entry is the prompt of a warm-up sub-agent."""
    for line in lines:
        row = first_object(line) if b'"user"' in line else None
        if row and row.get("type") == "user":
            return row.get("isSidechain") is True and prompt(row) == "Warmup"
    return False


def prompt(row: dict[str, Any]) -> object:
    """Give the content of an entry's message, whatever it is."""
    message = row.get("message")
    return message.get("content") if isinstance(message, dict) else None


def _judged(lines: Iterable[bytes], first: Iterable[bytes]) -> str | None:
    kinds: set[object] = set()
    for line in lines:
        if line.startswith(_PARENT_FIRST) and b'"isSidechain":true,' in line[:_EARLY]:
            kinds.add("assistant")
            continue
        if not line.strip(b" \t\r\n\0"):
            continue
        row = first_object(line)
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
