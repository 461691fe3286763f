"""Tags a session or removes its tag, using an entry that the client's session list reads."""

from __future__ import annotations

from pathlib import Path

from turnlog.edit.rename import AppendResult, append_session_entries
from turnlog.edit.session_target import clean_one_line, find_target
from turnlog.edit.undo.undo import Undo

MAX_TAG_CHARS = 100


def tag_session(path: Path, word: str | None, undo: Undo | None = None) -> AppendResult:
    """Tag a session, or remove its tag if None is given. With `undo`, `turnlog undo` can reverse it."""
    value = "" if word is None else clean_one_line(word.strip().removeprefix("#"), "tag", MAX_TAG_CHARS)
    target = find_target(path)
    return append_session_entries(
        target, value, {"type": "tag", "tag": value, "sessionId": target.session_id}, undo=undo, verb="tag"
    )
