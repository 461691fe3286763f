"""Giving a session a tag, or taking it away, by an entry as the client's list of sessions understands it."""

from __future__ import annotations

from pathlib import Path

from turnlog.edit.rename import AppendResult, append_session_entries
from turnlog.edit.session_target import clean_one_line, find_target
from turnlog.edit.undo.undo import Undo

MAX_TAG_CHARS = 100


def tag_session(path: Path, word: str | None, undo: Undo | None = None) -> AppendResult:
    """Give a session a tag; None takes it away; with `undo` in a way that can be taken back."""
    value = "" if word is None else clean_one_line(word.strip().removeprefix("#"), "tag", MAX_TAG_CHARS)
    found = find_target(path)
    return append_session_entries(
        found, value, {"type": "tag", "tag": value, "sessionId": found.session_id}, undo=undo, verb="tag"
    )
