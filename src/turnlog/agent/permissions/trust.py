"""What a person has agreed to for a folder: the client's own state file knows (`projects` in `.claude.json`)."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from turnlog.agent.settings import decode_settings, rewrite_settings
from turnlog.entries.layout import STATE_FILE_NAME, find_state_file

_TRUSTED_KEY = "hasTrustDialogAccepted"
_EXTERNAL_IMPORTS_KEY = "hasClaudeMdExternalIncludesApproved"


def is_trusted_folder(folder: Path, config_dir: Path) -> bool:
    """Whether they trust a folder, or one above it."""
    return _has_agreed(_TRUSTED_KEY, (folder, *folder.parents), config_dir)


def may_import_external(folder: Path, config_dir: Path) -> bool:
    """Whether instructions of a folder's project may bring in files from elsewhere."""
    return _has_agreed(_EXTERNAL_IMPORTS_KEY, (folder,), config_dir)


def _has_agreed(name: str, folders: tuple[Path, ...], config_dir: Path) -> bool:
    path = find_state_file(config_dir)
    try:
        state = decode_settings(path.read_bytes()) if path else {}
    except OSError:
        return False
    projects = state.get("projects") if isinstance(state, Mapping) else None
    if not isinstance(projects, dict):
        return False
    found = (projects.get(_make_project_key(folder)) for folder in folders)
    return any(isinstance(project, dict) and project.get(name) is True for project in found)


def trust_folder(folder: Path, config_dir: Path) -> Path:
    """Note that a folder is trusted, as the real client does; give the file."""

    def accept_folder(state: Mapping[str, Any]) -> Mapping[str, Any] | None:
        projects = state.get("projects", {})
        project = projects.get(_make_project_key(folder), {}) if isinstance(projects, dict) else None
        if not isinstance(project, dict):
            return None
        return {**state, "projects": {**projects, _make_project_key(folder): {**project, _TRUSTED_KEY: True}}}

    usual = config_dir.parent if config_dir.name == ".claude" else config_dir
    path = find_state_file(config_dir) or usual / STATE_FILE_NAME
    rewrite_settings(path, accept_folder, "projects is not what it should be", root=path.parent)
    return path


def _make_project_key(folder: Path) -> str:
    return unicodedata.normalize("NFC", folder.as_posix())
