"""Symptoms of the machine: the client's own state file, `.claude.json`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from turnlog.entries.atomic_file import read_whole_file

if TYPE_CHECKING:
    from turnlog.session.health.symptoms import Symptom

STATE_FILE_NAME = ".claude.json"


def find_state_file(config_dir: Path) -> Path | None:
    """The state file of a config folder: in it, or beside the usual one; None if there is none."""
    places = [
        config_dir / STATE_FILE_NAME,
        *([config_dir.parent / STATE_FILE_NAME] if config_dir.name == ".claude" else []),
    ]
    return next((path for path in places if path.exists()), None)


def diagnose_state_file(config_dir: Path) -> list[Symptom]:
    """Whether the client can read its state file."""
    from turnlog.session.health.symptoms import Symptom  # most callers only want to know where the file is

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
