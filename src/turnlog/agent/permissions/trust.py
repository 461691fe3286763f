"""A person's consent to use a folder, from Claude Code's state file (`projects` in `.claude.json`)."""

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
    """Return whether the person trusts a folder or one of its parents."""
    return _has_agreed(_TRUSTED_KEY, (folder, *folder.parents), config_dir)


def may_import_external(folder: Path, config_dir: Path) -> bool:
    """Return whether a project's instruction files may import files from outside the folder."""
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
    entries = (projects.get(_make_project_key(folder)) for folder in folders)
    return any(isinstance(project, dict) and project.get(name) is True for project in entries)


def trust_folder(folder: Path, config_dir: Path) -> Path:
    """Record that a folder is trusted, as Claude Code does, and return the path of the state file."""

    def accept_folder(state: Mapping[str, Any]) -> Mapping[str, Any] | None:
        projects = state.get("projects", {})
        project = projects.get(_make_project_key(folder), {}) if isinstance(projects, dict) else None
        if not isinstance(project, dict):
            return None
        return {**state, "projects": {**projects, _make_project_key(folder): {**project, _TRUSTED_KEY: True}}}

    default_folder = config_dir.parent if config_dir.name == ".claude" else config_dir
    path = find_state_file(config_dir) or default_folder / STATE_FILE_NAME
    rewrite_settings(path, accept_folder, "projects is malformed", root=path.parent)
    return path


def _make_project_key(folder: Path) -> str:
    return unicodedata.normalize("NFC", folder.as_posix())
