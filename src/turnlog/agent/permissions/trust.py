"""Whether a person has said that they trust a folder: the client's own state file knows (`hasTrustDialogAccepted`)."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from turnlog.agent.settings import decoded, rewrite
from turnlog.session.statefile import NAME, state_file

_ACCEPTED = "hasTrustDialogAccepted"


def trusted(folder: Path, config_dir: Path) -> bool:
    """Whether a folder, or one above it, is trusted."""
    path = state_file(config_dir)
    try:
        state = decoded(path.read_bytes()) if path else {}
    except OSError:
        return False
    projects = state.get("projects") if isinstance(state, Mapping) else None
    if not isinstance(projects, dict):
        return False
    found = (projects.get(_key(path)) for path in (folder, *folder.parents))
    return any(isinstance(project, dict) and project.get(_ACCEPTED) is True for project in found)


def trust(folder: Path, config_dir: Path) -> Path:
    """Note that a folder is trusted, as the real client does; give the file."""

    def accepted(state: Mapping[str, Any]) -> Mapping[str, Any] | None:
        projects = state.get("projects", {})
        project = projects.get(_key(folder), {}) if isinstance(projects, dict) else None
        if not isinstance(project, dict):
            return None
        return {**state, "projects": {**projects, _key(folder): {**project, _ACCEPTED: True}}}

    usual = config_dir.parent if config_dir.name == ".claude" else config_dir
    path = state_file(config_dir) or usual / NAME
    rewrite(path, accepted, "projects is not what it should be", root=path.parent)
    return path


def _key(folder: Path) -> str:
    return unicodedata.normalize("NFC", folder.as_posix())
