"""`history.jsonl`: what was typed, one line each, in all sessions of a config folder."""

from __future__ import annotations

from typing import NamedTuple

from turnlog.entries.file_ends import split_lines
from turnlog.entries.line_decoder import decode_first_object


class HistorySplit(NamedTuple):
    """The lines of a history, parted by session; both in their order and byte for byte."""

    kept: bytes
    taken: bytes
    lines: int
    """How many were taken."""


def split_history(data: bytes, session_id: str) -> HistorySplit:
    """Part the lines of one session from all others; what can't be read stays where it is."""
    kept: list[bytes] = []
    taken: list[bytes] = []
    for line in split_lines(data):
        own = session_id.encode() in line and (decode_first_object(line) or {}).get("sessionId") == session_id
        (taken if own else kept).append(line)
    return HistorySplit(b"".join(kept), b"".join(taken), len(taken))


def rejoin_history(old: bytes, current: bytes, session_id: str) -> bytes:
    """Bring the lines of a session back into a history they were taken from.

    Where the history only grew since, the result is the old one and what was added; else they go to the end.
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
