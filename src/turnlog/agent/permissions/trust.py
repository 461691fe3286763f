"""Whether a person has said that they trust a folder: the client's own state file knows (`hasTrustDialogAccepted`)."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import msgspec

from turnlog.entries.writer import read_whole, replace
from turnlog.errors import TurnlogError
from turnlog.session.statefile import NAME, state_file

_ACCEPTED = "hasTrustDialogAccepted"


def trusted(folder: Path, config_dir: Path) -> bool:
    """Whether a folder, or one above it, is trusted."""
    try:
        projects = _state(state_file(config_dir)).get("projects")
    except TurnlogError:
        return False
    if not isinstance(projects, dict):
        return False
    return any(_accepted(projects.get(_key(path))) for path in (folder, *folder.parents))


def trust(folder: Path, config_dir: Path) -> Path:
    """Note that a folder is trusted, as the real client does; give the file."""
    path = state_file(config_dir) or _place(config_dir)
    old = read_whole(path) if path.exists() else None
    state = _state(path if old else None)
    projects = state.get("projects", {})
    project = projects.get(_key(folder), {}) if isinstance(projects, dict) else None
    if not isinstance(projects, dict) or not isinstance(project, dict):
        raise TurnlogError(f"{path}: projects is not what it should be; nothing was written")
    state = {**state, "projects": {**projects, _key(folder): {**project, _ACCEPTED: True}}}
    data = json.dumps(state, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")
    replace(path, data, root=path.parent, expected=old.checkpoint if old else None)
    return path


def _accepted(project: Any) -> bool:
    return isinstance(project, dict) and project.get(_ACCEPTED) is True


def _key(folder: Path) -> str:
    return unicodedata.normalize("NFC", folder.as_posix())


def _place(config_dir: Path) -> Path:
    folder = config_dir.parent if config_dir.name == ".claude" else config_dir
    return folder / NAME


def _state(path: Path | None) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(path.read_bytes().strip() or b"{}") if path else {}
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise TurnlogError(f"{path}: can't be read ({error}); nothing was written") from None
    if not isinstance(found, dict):
        raise TurnlogError(f"{path}: holds no object; nothing was written")
    return found
