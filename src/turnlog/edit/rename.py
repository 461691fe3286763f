"""Gives a session a title, as the client's `/rename` does.

The client appends two entries: `custom-title` for its session list, and `agent-name` for the line above the prompt. It
also stores the title in `<session id>/custom-title.json`, where it can be found even when those entries are far from
the end of the transcript.

An open session can be renamed, because writers that append whole lines don't interfere with each other. However, the
client keeps titles in memory and appends them repeatedly, sometimes without reading what others have appended. Its old
title may therefore reappear when the session continues, and turnlog warns if the session is open.
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
"""The client never shows longer titles in full."""


class AppendResult(NamedTuple):
    """The value that was appended to a session, and signs that the session is open."""

    target: SessionTarget
    value: str
    busy: list[OpenSign]
    """Signs that the session is open elsewhere."""


class SidecarFile(NamedTuple):
    """A small file beside the transcript that contains the same value."""

    path: Path
    data: bytes


def rename_session(path: Path, title: str, undo: Undo | None = None) -> AppendResult:
    """Give a session a title; with `undo`, `turnlog undo` can reverse it."""
    target, value = find_target(path), clean_one_line(title, "title", MAX_TITLE_CHARS)
    session_id = target.session_id
    rows = (
        {"type": "custom-title", "customTitle": value, "sessionId": session_id},
        {"type": "agent-name", "agentName": value, "sessionId": session_id},
    )
    data = msgspec.json.encode({"customTitle": value})
    sidecar = None if target.config_dir is None else SidecarFile(target.session_dir / "custom-title.json", data)
    return append_session_entries(target, value, *rows, beside=sidecar, undo=undo, verb="rename")


def append_session_entries(
    target: SessionTarget,
    value: str,
    *rows: dict[str, str],
    verb: str,
    undo: Undo | None = None,
    beside: SidecarFile | None = None,
) -> AppendResult:
    """Append entries to a session, in one write.

    If the last line is incomplete, a running client may be about to finish it, so nothing is appended.
    """
    busy = find_open_signs(target)
    is_written = any(
        sign.kind not in ("client", "unseen") for sign in busy
    )  # such a client writes a whole line at once
    lines = b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
    if undo is None:
        append_to_transcript(target, lines, mend=not is_written)
        if beside is not None:
            _write_sidecar(target, beside)
    else:
        changes: list[FileChange] = [AppendChange(target.path, lines, target.root, mend=not is_written)]
        undo.carry_out(
            verb, f"{target.session_id}: {value or 'removed'}", changes + _build_sidecar_changes(target, beside)
        )
    return AppendResult(target, value, busy)


def _build_sidecar_changes(target: SessionTarget, sidecar: SidecarFile | None) -> list[FileChange]:
    if sidecar is None:
        return []
    path, data = sidecar
    if path.exists():
        return [RewriteChange(path, lambda: [data], target.root, keep_times=False)]
    return [CreateChange(path, lambda: [data], target.root)]


def _write_sidecar(target: SessionTarget, sidecar: SidecarFile) -> None:
    if not sidecar.path.parent.is_symlink():
        sidecar.path.parent.mkdir(mode=0o700, exist_ok=True)
    replace_file(sidecar.path, sidecar.data, root=target.root)
