"""Illnesses of a whole file: it can't be read, it is from another program, or the client's state file is broken."""

from __future__ import annotations

import shlex
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
        return [Symptom("broken-state-file", "error", f"{path}: {error.strerror}", remedy=f"make {path} readable")]
    reason = _explain_damage(data)
    if reason is None:
        return []
    copies = (copy for copy in _list_backups(config_dir) if _is_whole(copy))
    newest = max(copies, key=lambda copy: copy.stat().st_mtime_ns, default=None)
    if newest is None:
        remedy = f"move {path} aside: there is no copy of it, and Claude Code writes a new one"
        return [Symptom("broken-state-file", "error", f"{path} {reason}; there is no copy of it", remedy=remedy)]
    remedy = f"end Claude Code, then: cp {shlex.quote(str(newest))} {shlex.quote(str(path))}"
    text = f"{path} {reason}; the newest copy is {newest}"
    return [Symptom("broken-state-file", "error", text, remedy=remedy)]


def _explain_damage(data: bytes) -> str | None:
    if not data.strip(b" \t\r\n\0"):
        return "is empty"
    try:
        value = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return f"is not JSON ({error})"
    return None if isinstance(value, dict) else "is not a JSON object"


def _is_whole(copy: Path) -> bool:
    try:
        return _explain_damage(read_whole_file(copy).data) is None
    except OSError:
        return False


def _list_backups(config_dir: Path) -> Iterator[Path]:
    for folder in (config_dir / "backups", config_dir, config_dir.parent):
        yield from (path for path in folder.glob(f"{STATE_FILE_NAME}.backup*") if path.is_file())


BROKEN_STATE_FILE = Illness(
    "broken-state-file",
    "Claude Code asks you to sign in and to trust folders again, or does not start.",
    "the state file was cut off while two clients wrote it (#3117, #28888)",
    remedy="restore the newest copy that `turnlog doctor --all` names",
    alternative="it is the client's own file; restore the newest copy that `turnlog doctor --all` names",
)
