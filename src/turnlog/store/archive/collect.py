"""Which files belong to which session, for all sessions of a config folder at once.

`entries.belongings` answers for one session and looks through whole folders for it; here every folder is listed once.
What carries a session's id belongs to it, in whichever folder of the config folder it lies: what later clients
invent is kept too. Links are not followed, except that a session's own file or its project folder may be one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Set
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.agents import AgentsBySession, list_loose_agents
from turnlog.entries.layout import (
    SessionFile,
    Survey,
    is_dir,
    is_session_id,
    list_project_folders,
    list_project_sessions,
    scan_folder,
)

_SESSION_ID_CHARS = 36
_PLAN_SLUG = re.compile(rb'"slug"\s*:\s*"([A-Za-z0-9_][A-Za-z0-9_-]{0,199})"')
_SEPARATE_FOLDERS = {"projects", "plans"}


class SessionOnDisk(NamedTuple):
    """A session on disk."""

    file: SessionFile
    paths: tuple[str, ...]
    """Everything that belongs to it, its own file first."""


def collect_sessions(
    config_dir: Path, only: Set[str] | None = None, survey: Survey | None = None
) -> Iterator[SessionOnDisk]:
    """The sessions of a config folder, or some of them, with all that belongs to them."""
    survey = survey or Survey()
    elsewhere = _group_files_by_id(config_dir, survey)
    for project_dir in list_project_folders(config_dir, survey):
        listed = list_project_sessions(project_dir, config_dir, survey)
        files = [item for item in listed if only is None or item.session_id in only]
        loose = list_loose_agents(project_dir) if files else {}
        for item in files:
            folder = os.path.join(project_dir, item.session_id)  # noqa: PTH118
            beside = [*_list_files_below(folder, survey), *_list_loose_agent_paths(loose, item.session_id)]
            paths = [item.file, *beside, *elsewhere.get(item.session_id, ())]
            yield SessionOnDisk(item, tuple(dict.fromkeys(paths)))


def find_named_plans(data: bytes, config_dir: Path) -> set[str]:
    """The plans in the config folder that some lines of a session name."""
    names = {name.decode() for name in _PLAN_SLUG.findall(data)}
    paths = (os.path.join(config_dir, "plans", f"{name}.md") for name in names)  # noqa: PTH118
    return {path for path in paths if _is_file(path)}


def _group_files_by_id(config_dir: Path, survey: Survey) -> dict[str, list[str]]:
    """The files in all folders but those of the projects whose names begin with a session's id."""
    found: dict[str, list[str]] = {}
    for folder in scan_folder(config_dir, survey):
        if folder.name in _SEPARATE_FOLDERS or not is_dir(folder, survey, follow_links=False):
            continue
        for item in scan_folder(folder.path, survey):
            name = item.name[:_SESSION_ID_CHARS]
            if is_session_id(name) and item.name[_SESSION_ID_CHARS : _SESSION_ID_CHARS + 1] in ("", ".", "-"):
                found.setdefault(name, []).extend(_list_files([item], survey))
    return {name: sorted(paths) for name, paths in found.items()}


def _list_files_below(folder: str, survey: Survey) -> list[str]:
    # Strings are several times as fast as paths.
    return [] if os.path.islink(folder) else _list_files(scan_folder(folder, survey), survey)  # noqa: PTH114


def _list_files(items: Iterable[os.DirEntry[str]], survey: Survey) -> list[str]:
    """The files among some entries of a folder, and below the folders among them."""
    found = []
    for item in sorted(items, key=lambda item: item.name):
        if is_dir(item, survey, follow_links=False):
            found += _list_files(scan_folder(item.path, survey), survey)
        elif not item.is_symlink() and item.is_file(follow_symlinks=False):
            found.append(item.path)
    return found


def _list_loose_agent_paths(agents: AgentsBySession, session_id: str) -> list[str]:
    paths = [path for agent in agents.get(session_id, []) for path in (agent.path, agent.meta_path)]
    return [str(path) for path in paths if path and not path.is_symlink()]


def _is_file(path: str) -> bool:
    return os.path.isfile(path) and not os.path.islink(path)  # noqa: PTH113, PTH114
