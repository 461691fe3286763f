"""Illnesses of a file as a whole: it can't be read, another program wrote it, or the client's state file is broken."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from turnlog.edit.illnesses.illness import Illness, Symptom, Symptoms
from turnlog.edit.illnesses.resume_view import ResumeView
from turnlog.entries.atomic_file import read_whole_file
from turnlog.entries.layout import STATE_FILE_NAME, find_state_file
from turnlog.errors import TurnlogError
from turnlog.session.foreign_files import explain_foreign_file


def describe_unreadable(error: TurnlogError) -> Symptom:
    """The symptom of a session that can't be read."""
    return Symptom("unreadable", "error", str(error))


UNREADABLE = Illness(
    "unreadable",
    "The client says nothing, and does not list it.",
    "the file or its folder may not be read, or is none",
    remedy="see to it that {path} can be read",
    alternative="see to it that the file can be read",
)


def detect_foreign_file(view: ResumeView, found: Symptoms) -> None:
    """A file that is no session of Claude Code."""
    if reason := explain_foreign_file(view.session.file):
        found.note("no-session", "error", reason)


NO_SESSION = Illness(
    "no-session",
    "The client does not know the file at all.",
    "another program wrote it",
    remedy="none: it is no session of Claude Code",
    alternative="another program wrote the file",
)


def diagnose_state_file(config_dir: Path) -> list[Symptom]:
    """The symptom of a config folder whose state file the client can't read."""
    path = find_state_file(config_dir)
    try:
        data = read_whole_file(path).data if path else b"{}"
    except OSError as error:
        return [Symptom("broken-state-file", "error", f"{path}: {error.strerror}")]
    reason = _explain_damage(data)
    if reason is None:
        return []
    newest = max(_list_backups(config_dir), key=lambda copy: copy.stat().st_mtime_ns, default=None)
    copy = f"; the newest copy is {newest}" if newest else "; no copy of it was found"
    return [Symptom("broken-state-file", "error", f"{path} {reason}{copy}")]


def _explain_damage(data: bytes) -> str | None:
    if not data.strip(b" \t\r\n\0"):
        return "is empty"
    try:
        value = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return f"is no JSON ({error})"
    return None if isinstance(value, dict) else "holds no object"


def _list_backups(config_dir: Path) -> Iterator[Path]:
    for folder in (config_dir / "backups", config_dir, config_dir.parent):
        yield from (path for path in folder.glob(f"{STATE_FILE_NAME}.backup*") if path.is_file())


BROKEN_STATE_FILE = Illness(
    "broken-state-file",
    "The client asks for sign-in and trust again, or does not start.",
    "its state file was cut while two clients wrote it (#3117, #28888)",
    remedy="take the newest copy from the client's backups folder: {path}",
    alternative="it is the client's own file; take the newest copy that `turnlog doctor --all` names",
)
