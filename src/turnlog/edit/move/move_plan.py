"""Determines what moves when a project folder is renamed: the folders with its sessions, and files that mention it.

The sessions of a project folder are in `projects/<slug>`; each of its subfolders has its own slug. A slug can't be
converted back to a path, and two paths may have the same slug, so the working directory in each session's entries
decides whether that session moves. Everything else in a project's folder (its memory and the client's list) moves if
all of its sessions do.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import NamedTuple

from turnlog.edit.move.path_translation import PathTranslation
from turnlog.edit.session_target import SessionTarget
from turnlog.entries.agents import list_loose_agents
from turnlog.entries.layout import is_session_id, list_project_folders, list_project_sessions, scan_folder
from turnlog.entries.peek import peek_files
from turnlog.entries.slug import make_slug
from turnlog.errors import NotFound

SESSIONS_INDEX_NAME = "sessions-index.json"
_MEMORY_FOLDER_NAME = "memory"


class MovedFolder(NamedTuple):
    """A project folder with sessions that move."""

    source: Path
    goal: Path
    config_dir: Path
    sessions: tuple[str, ...]
    """The ids of the sessions that move."""
    names: tuple[str, ...]
    """The names of all items in the folder that move."""
    is_whole: bool
    """Whether everything in the folder moves."""

    @property
    def targets(self) -> list[SessionTarget]:
        """The sessions that move."""
        return [SessionTarget(self.source / f"{own}.jsonl", own, self.config_dir) for own in self.sessions]


class MovePlan(NamedTuple):
    """Everything that moves."""

    translation: PathTranslation
    config_dirs: tuple[Path, ...]
    folders: tuple[MovedFolder, ...]

    @property
    def session_count(self) -> int:
        return sum(len(folder.sessions) for folder in self.folders)

    @property
    def taken_folders(self) -> list[Path]:
        """Target folders that already exist."""
        return [
            folder.goal for folder in self.folders if folder.goal != folder.source and _is_filled_folder(folder.goal)
        ]

    @property
    def collisions(self) -> list[Path]:
        """Target files that already exist."""
        found: list[Path] = []
        for folder in self.folders:
            if folder.goal != folder.source:
                found += [
                    goal
                    for source, goal in list_moves(folder)
                    if os.path.lexists(goal) and source.name != SESSIONS_INDEX_NAME
                ]
        return found


def plan_move(old: str, new: str, config_dirs: Sequence[Path]) -> MovePlan:
    """Find the sessions written in or below a folder; raise `NotFound` with similar folders if there are none."""
    plain = PathTranslation(old, new)
    folders: list[MovedFolder] = []
    other_folders: set[str] = set()
    for config_dir in config_dirs:
        moved, others = _find_folders(config_dir, plain)
        folders += moved
        other_folders |= others
    if not folders:
        close = get_close_matches(plain.old, sorted(other_folders), 3, 0.5)
        hint = f"; closest matches: {', '.join(close)}" if close else ""
        raise NotFound(f"no session was recorded in {plain.old} or its subfolders{hint}")
    slugs = {folder.source.name: folder.goal.name for folder in folders if folder.source != folder.goal}
    return MovePlan(PathTranslation(old, new, slugs), tuple(config_dirs), tuple(folders))


def _find_folders(config_dir: Path, translation: PathTranslation) -> tuple[list[MovedFolder], set[str]]:
    """Return the folders with sessions that move, and the working directories of all sessions."""
    listed = [(folder, list(list_project_sessions(folder, config_dir))) for folder in list_project_folders(config_dir)]
    peeks = peek_files([file.file for _, files in listed for file in files])
    folders: list[MovedFolder] = []
    others: set[str] = set()
    for folder, files in listed:
        cwds = {file.session_id: ends.cwd for file, ends in zip(files, peeks[: len(files)], strict=True)}
        peeks = peeks[len(files) :]
        moved = _plan_folder(folder, config_dir, cwds, translation)
        if moved is not None:
            folders.append(moved)
        others |= {cwd for cwd in cwds.values() if cwd is not None}
    return folders, others


def _plan_folder(
    source: Path, config_dir: Path, cwds: dict[str, str | None], translation: PathTranslation
) -> MovedFolder | None:
    moving = {own: cwd for own, cwd in cwds.items() if cwd is not None and _is_in_moved_folder(cwd, translation)}
    staying = [own for own, cwd in cwds.items() if cwd is not None and own not in moving]
    is_named = _is_slug_of(source.name, translation.old, translation)
    if not moving and (staying or not is_named):
        return None
    base = _find_base_folder(source.name, moving.values(), translation) or (translation.old if is_named else None)
    goal = source if base is None else source.with_name(make_slug(translation.translate_path(base)))
    sessions = tuple(sorted(moving if staying else cwds))
    names = _list_session_names(source, sessions) if staying else sorted(item.name for item in scan_folder(source))
    return MovedFolder(source, goal, config_dir, sessions, tuple(names), not staying)


def _is_in_moved_folder(cwd: str, translation: PathTranslation) -> bool:
    return translation.prefix.covers_path(cwd)


def _find_base_folder(name: str, cwds: Iterable[str], translation: PathTranslation) -> str | None:
    """Return the working directory that a project folder is named after, at or below the folder that moves."""
    for cwd in dict.fromkeys(cwds):
        kind = PureWindowsPath if translation.prefix.is_windows else PurePosixPath
        for path in (cwd, *map(str, kind(cwd).parents)):
            if _is_in_moved_folder(path, translation) and _is_slug_of(name, path, translation):
                return path
    return None


def _is_slug_of(name: str, path: str, translation: PathTranslation) -> bool:
    # Windows drive letters occur in both upper and lower case.
    own = make_slug(path)
    return own == name or (translation.prefix.is_windows and own.casefold() == name.casefold())


def _list_session_names(source: Path, sessions: tuple[str, ...]) -> list[str]:
    """List the items that belong to some of a folder's sessions when its other sessions don't move."""
    own = set(sessions)
    loose = list_loose_agents(source)
    agents = [
        path for session in sessions for agent in loose.get(session, []) for path in (agent.path, agent.meta_path)
    ]
    beside = {path.name for path in agents if path is not None and path.parent == source}
    names = (item.name for item in scan_folder(source))
    return sorted(name for name in names if name in beside or (is_session_id(name[:36]) and name[:36] in own))


def list_moves(folder: MovedFolder) -> Iterator[tuple[Path, Path]]:
    """Yield each old path with its new one; if the target folder exists, move the memory's files one by one."""
    for name in folder.names:
        source, goal = folder.source / name, folder.goal / name
        if name == _MEMORY_FOLDER_NAME and source.is_dir() and goal.is_dir() and not source.is_symlink():
            for item in sorted(scan_folder(source), key=lambda item: item.name):
                yield Path(item.path), goal / item.name
        else:
            yield source, goal


def list_moved_files(folder: MovedFolder) -> Iterator[Path]:
    """Yield all regular files that move with a folder; links are not followed."""
    for name in folder.names:
        top = folder.source / name
        if top.is_symlink():
            continue
        if top.is_file():
            yield top
        for base, _, names in os.walk(top):
            found = (Path(base, inner) for inner in sorted(names))
            yield from (path for path in found if path.is_file() and not path.is_symlink())


def list_moved_links(folder: MovedFolder) -> Iterator[Path]:
    """Yield all links that move with a folder; their targets are not changed or moved."""
    for name in folder.names:
        top = folder.source / name
        if top.is_symlink():
            yield top
            continue
        for base, folders, names in os.walk(top):
            found = (Path(base, inner) for inner in sorted(folders + names))
            yield from (path for path in found if path.is_symlink())


def _is_filled_folder(folder: Path) -> bool:
    return bool(scan_folder(folder))
