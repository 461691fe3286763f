"""What belongs to a session and goes along when a new one is made from it.

    carried    sub-agents and their meta files, large outputs, workflows, copies of files, to-dos, tasks
    left       the title beside it (the new one has its own), caches, logs, shell snapshots; plans are shared by name

Loose sub-agents of old clients come to lie in the new session's own folder: in the project's folder their names
would stand for two sessions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.session_target import SessionTarget
from turnlog.entries.belongings import list_belongings


class CarriedFile(NamedTuple):
    """One file of the source, and where it goes."""

    source: Path
    goal: Path
    names_ids: bool
    """Whether ids of entries stand in it, line by line."""


def list_carried_files(found: SessionTarget, new_id: str, project_dir: Path | None = None) -> list[CarriedFile]:
    """The files of a session that a new one gets copies of; links are left out (`left_out`)."""
    if found.config_dir is None:
        return []
    mine = list_belongings(found.config_dir, found.path.parent, found.session_id)
    folder = (project_dir or found.path.parent) / new_id
    files = [
        *_carry_session_files(found, mine.subagents, folder),
        *_carry_session_files(found, mine.tool_results, folder),
    ]
    files += _carry_session_files(found, mine.workflows, folder)
    for path in mine.loose_agents:
        files.append(CarriedFile(path, folder / "subagents" / path.name, True))
        meta = path.with_suffix(".meta.json")
        files += [CarriedFile(meta, folder / "subagents" / meta.name, True)] if meta.exists() else []
    for kind, paths in (("file-history", mine.file_history), ("tasks", mine.tasks)):
        base, new = found.config_dir / kind / found.session_id, found.config_dir / kind / new_id
        files += [CarriedFile(path, new / path.relative_to(base), False) for path in paths]
    todos = found.config_dir / "todos"
    files += [CarriedFile(path, todos / path.name.replace(found.session_id, new_id), False) for path in mine.todos]
    return [file for file in files if _is_own_file(found, file.source)]


def list_left_out_links(found: SessionTarget) -> list[Path]:
    """The links among what belongs to a session: they are not followed, so what they lead to does not go along."""
    if found.config_dir is None:
        return []
    own = found.session_id
    tops = (found.session_dir, found.config_dir / "file-history" / own, found.config_dir / "tasks" / own)
    return sorted(link for top in tops for link in _find_links(top))


def _find_links(top: Path) -> Iterator[Path]:
    if top.is_symlink():
        yield top
        return
    for base, folders, names in os.walk(top):
        yield from (path for name in (*folders, *names) if (path := Path(base, name)).is_symlink())


def _is_own_file(found: SessionTarget, path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and not found.is_reached_by_link(path)


def _carry_session_files(found: SessionTarget, paths: tuple[Path, ...], folder: Path) -> Iterator[CarriedFile]:
    for path in paths:
        names_ids = path.suffix in (".jsonl", ".json")
        yield CarriedFile(path, folder / path.relative_to(found.session_dir), names_ids)
