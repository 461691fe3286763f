"""Finds the files that belong to a session and are copied when a new session is made from it.

    copied        sub-agents and their meta files, large outputs, workflows, file copies, to-dos and tasks
    not copied    the title file (the new session has its own), caches, logs, shell snapshots, plans (shared by name)

Loose sub-agent files from old clients are copied into the new session's own folder; in the project's folder, their
names would make them part of both sessions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.session_target import SessionTarget
from turnlog.entries.belongings import list_belongings


class CarriedFile(NamedTuple):
    """A file of the source session and the path of its copy."""

    source: Path
    goal: Path
    names_ids: bool
    """Whether the file's lines contain entry ids."""


def list_carried_files(target: SessionTarget, new_id: str, project_dir: Path | None = None) -> list[CarriedFile]:
    """List the files of a session to copy into a new one, except links (see `list_left_out_links`)."""
    if target.config_dir is None:
        return []
    belongings = list_belongings(target.config_dir, target.path.parent, target.session_id)
    folder = (project_dir or target.path.parent) / new_id
    files = [
        *_carry_session_files(target, belongings.subagents, folder),
        *_carry_session_files(target, belongings.tool_results, folder),
    ]
    files += _carry_session_files(target, belongings.workflows, folder)
    for path in belongings.loose_agents:
        files.append(CarriedFile(path, folder / "subagents" / path.name, True))
        meta = path.with_suffix(".meta.json")
        files += [CarriedFile(meta, folder / "subagents" / meta.name, True)] if meta.exists() else []
    for kind, paths in (("file-history", belongings.file_history), ("tasks", belongings.tasks)):
        old_folder, new_folder = target.config_dir / kind / target.session_id, target.config_dir / kind / new_id
        files += [CarriedFile(path, new_folder / path.relative_to(old_folder), False) for path in paths]
    todos = target.config_dir / "todos"
    files += [
        CarriedFile(path, todos / path.name.replace(target.session_id, new_id), False) for path in belongings.todos
    ]
    return [file for file in files if _is_own_file(target, file.source)]


def list_left_out_links(target: SessionTarget) -> list[Path]:
    """List the symbolic links among a session's files. Links are not followed, so their targets are not copied."""
    if target.config_dir is None:
        return []
    session_id = target.session_id
    tops = (
        target.session_dir,
        target.config_dir / "file-history" / session_id,
        target.config_dir / "tasks" / session_id,
    )
    return sorted(link for top in tops for link in _find_links(top))


def _find_links(top: Path) -> Iterator[Path]:
    if top.is_symlink():
        yield top
        return
    for base, folders, names in os.walk(top):
        yield from (path for name in (*folders, *names) if (path := Path(base, name)).is_symlink())


def _is_own_file(target: SessionTarget, path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and not target.is_reached_by_link(path)


def _carry_session_files(target: SessionTarget, paths: tuple[Path, ...], folder: Path) -> Iterator[CarriedFile]:
    for path in paths:
        names_ids = path.suffix in (".jsonl", ".json")
        yield CarriedFile(path, folder / path.relative_to(target.session_dir), names_ids)
