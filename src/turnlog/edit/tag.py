"""Giving a session a tag, or taking it away, by an entry as the client's list of sessions understands it."""

from __future__ import annotations

from pathlib import Path

from turnlog.edit.rename import Appended, note
from turnlog.edit.target import one_line, target
from turnlog.edit.undo.undo import Undo

LONGEST = 100


def tag(path: Path, word: str | None, undo: Undo | None = None) -> Appended:
    """Give a session a tag; None takes it away; with `undo` in a way that can be taken back."""
    value = "" if word is None else one_line(word.strip().removeprefix("#"), "tag", LONGEST)
    found = target(path)
    return note(found, value, {"type": "tag", "tag": value, "sessionId": found.session_id}, undo=undo, verb="tag")
