"""Illnesses of a whole file: it can't be read, it is from another program, or the client's state file is broken."""

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
    """Build the symptom of a session that can't be read."""
    return Symptom("unreadable", "error", str(error))


UNREADABLE = Illness(
    "unreadable",
    "Claude Code shows no error, and does not list the session.",
    "the file or its folder can't be read, or is not a file",
    remedy="make {path} readable",
    alternative="make the file readable",
)


def detect_foreign_file(view: ResumeView, symptoms: Symptoms) -> None:
    """Detect a file that is not a Claude Code session."""
    if reason := explain_foreign_file(view.session.file):
        symptoms.note("no-session", "error", reason)


NO_SESSION = Illness(
    "no-session",
    "Claude Code ignores the file.",
    "another program wrote it",
    remedy="none: it is not a session of Claude Code",
    alternative="another program wrote the file",
)


def diagnose_state_file(config_dir: Path) -> list[Symptom]:
    """Check whether the client can read its state file in a config folder."""
    path = find_state_file(config_dir)
    try:
        data = read_whole_file(path).data if path else b"{}"
    except OSError as error:
        return [Symptom("broken-state-file", "error", f"{path}: {error.strerror}")]
    reason = _explain_damage(data)
    if reason is None:
        return []
    newest = max(_list_backups(config_dir), key=lambda copy: copy.stat().st_mtime_ns, default=None)
    copy = f"; the newest copy is {newest}" if newest else "; there is no copy of it"
    return [Symptom("broken-state-file", "error", f"{path} {reason}{copy}")]


def _explain_damage(data: bytes) -> str | None:
    if not data.strip(b" \t\r\n\0"):
        return "is empty"
    try:
        value = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return f"is not JSON ({error})"
    return None if isinstance(value, dict) else "is not a JSON object"


def _list_backups(config_dir: Path) -> Iterator[Path]:
    for folder in (config_dir / "backups", config_dir, config_dir.parent):
        yield from (path for path in folder.glob(f"{STATE_FILE_NAME}.backup*") if path.is_file())


BROKEN_STATE_FILE = Illness(
    "broken-state-file",
    "Claude Code asks you to sign in and to trust folders again, or does not start.",
    "the state file was cut off while two clients wrote it (#3117, #28888)",
    remedy="restore the newest copy from the client's backups folder: {path}",
    alternative="it is the client's own file; restore the newest copy that `turnlog doctor --all` names",
)
