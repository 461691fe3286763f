"""`history.jsonl`: everything that the user typed, one line each, in all sessions of a config folder."""

from __future__ import annotations

from typing import NamedTuple

from turnlog.entries.file_ends import split_lines
from turnlog.entries.line_decoder import decode_first_object


class HistorySplit(NamedTuple):
    """The lines of a history, split by session; both parts keep their order and bytes."""

    kept: bytes
    taken: bytes
    lines: int
    """The number of lines in `taken`."""


def split_history(data: bytes, session_id: str) -> HistorySplit:
    """Separate the lines of one session from all others; put unreadable lines in `kept`."""
    kept: list[bytes] = []
    taken: list[bytes] = []
    for line in split_lines(data):
        own = session_id.encode() in line and (decode_first_object(line) or {}).get("sessionId") == session_id
        (taken if own else kept).append(line)
    return HistorySplit(b"".join(kept), b"".join(taken), len(taken))


def rejoin_history(old: bytes, current: bytes, session_id: str) -> bytes:
    """Put the lines of a session back into the history that they came from.

    If the history has only grown since then, the result is the old history plus the new lines; otherwise, the session's
    lines are appended.
    """
    split = split_history(old, session_id)
    if current.startswith(old) or split_history(current, session_id).taken == split.taken:
        return current
    if current.startswith(split.kept):
        return _join_with_newline(old, current[len(split.kept) :])
    return _join_with_newline(current, split.taken)


def _join_with_newline(first: bytes, second: bytes) -> bytes:
    gap = b"\n" if first and second and not first.endswith(b"\n") else b""
    return first + gap + second
