"""What a person has agreed to for a folder: the client's own state file knows (`projects` in `.claude.json`)."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from turnlog.agent.settings import decoded, rewrite
from turnlog.session.health.statefile import NAME, state_file

_TRUSTED = "hasTrustDialogAccepted"
_EXTERNAL = "hasClaudeMdExternalIncludesApproved"


def trusted(folder: Path, config_dir: Path) -> bool:
    """Whether they trust a folder, or one above it."""
    return _agreed(_TRUSTED, (folder, *folder.parents), config_dir)


def may_import(folder: Path, config_dir: Path) -> bool:
    """Whether instructions of a folder's project may bring in files from elsewhere."""
    return _agreed(_EXTERNAL, (folder,), config_dir)


def _agreed(name: str, folders: tuple[Path, ...], config_dir: Path) -> bool:
    path = state_file(config_dir)
    try:
        state = decoded(path.read_bytes()) if path else {}
    except OSError:
        return False
    projects = state.get("projects") if isinstance(state, Mapping) else None
    if not isinstance(projects, dict):
        return False
    found = (projects.get(_key(folder)) for folder in folders)
    return any(isinstance(project, dict) and project.get(name) is True for project in found)


def trust(folder: Path, config_dir: Path) -> Path:
    """Note that a folder is trusted, as the real client does; give the file."""

    def accepted(state: Mapping[str, Any]) -> Mapping[str, Any] | None:
        projects = state.get("projects", {})
        project = projects.get(_key(folder), {}) if isinstance(projects, dict) else None
        if not isinstance(project, dict):
            return None
        return {**state, "projects": {**projects, _key(folder): {**project, _TRUSTED: True}}}

    usual = config_dir.parent if config_dir.name == ".claude" else config_dir
    path = state_file(config_dir) or usual / NAME
    rewrite(path, accepted, "projects is not what it should be", root=path.parent)
    return path


def _key(folder: Path) -> str:
    return unicodedata.normalize("NFC", folder.as_posix())
