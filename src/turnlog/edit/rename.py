"""Giving a session a title, the way the client's `/rename` does it.

The client appends two entries, `custom-title` for its list of sessions and `agent-name` for the line above the
prompt, and keeps the title a second time in `<session id>/custom-title.json`, where it survives a transcript whose end
grows far beyond it.

An open session may be renamed: writers that append whole lines don't harm each other. But the client keeps titles in
memory and appends them again and again, sometimes after a look at what others appended, and sometimes not. So its old
title may come back when it goes on; whoever renames is told that it is open.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec

from turnlog.edit.apply import append_to_transcript
from turnlog.edit.open_signs import OpenSign, find_open_signs
from turnlog.edit.session_target import SessionTarget, clean_one_line, find_target
from turnlog.edit.undo.undo import AppendChange, CreateChange, FileChange, RewriteChange, Undo
from turnlog.entries.atomic_file import replace_file

MAX_TITLE_CHARS = 500
"""More would not be shown anywhere."""


class AppendResult(NamedTuple):
    """What was appended to which session."""

    target: SessionTarget
    value: str
    busy: list[OpenSign]
    """What tells that the session is open elsewhere."""


class SidecarFile(NamedTuple):
    """A small file beside the transcript that says the same."""

    path: Path
    data: bytes


def rename_session(path: Path, title: str, undo: Undo | None = None) -> AppendResult:
    """Give a session a title; with `undo` in a way that can be taken back."""
    found, value = find_target(path), clean_one_line(title, "title", MAX_TITLE_CHARS)
    own = found.session_id
    rows = (
        {"type": "custom-title", "customTitle": value, "sessionId": own},
        {"type": "agent-name", "agentName": value, "sessionId": own},
    )
    data = msgspec.json.encode({"customTitle": value})
    beside = None if found.config_dir is None else SidecarFile(found.session_dir / "custom-title.json", data)
    return append_session_entries(found, value, *rows, beside=beside, undo=undo, verb="rename")


def append_session_entries(
    found: SessionTarget,
    value: str,
    *rows: dict[str, str],
    verb: str,
    undo: Undo | None = None,
    beside: SidecarFile | None = None,
) -> AppendResult:
    """Append entries to a session, in one write.

    Where the last line has no end, a running client may be about to write it: then nothing is appended.
    """
    busy = find_open_signs(found)
    is_written = any(sign.kind not in ("client", "unseen") for sign in busy)  # such a client would write it at once
    lines = b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
    if undo is None:
        append_to_transcript(found, lines, mend=not is_written)
        if beside is not None:
            _write_sidecar(found, beside)
    else:
        changes: list[FileChange] = [AppendChange(found.path, lines, found.root, mend=not is_written)]
        undo.carry_out(
            verb, f"{found.session_id}: {value or 'taken away'}", changes + _build_sidecar_changes(found, beside)
        )
    return AppendResult(found, value, busy)


def _build_sidecar_changes(found: SessionTarget, beside: SidecarFile | None) -> list[FileChange]:
    if beside is None:
        return []
    path, data = beside
    if path.exists():
        return [RewriteChange(path, lambda: [data], found.root, keep_times=False)]
    return [CreateChange(path, lambda: [data], found.root)]


def _write_sidecar(found: SessionTarget, beside: SidecarFile) -> None:
    if not beside.path.parent.is_symlink():
        beside.path.parent.mkdir(mode=0o700, exist_ok=True)
    replace_file(beside.path, beside.data, root=found.root)
