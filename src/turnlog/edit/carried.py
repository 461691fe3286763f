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

from turnlog.edit.target import Target
from turnlog.entries.belongings import belongings


class Carried(NamedTuple):
    """One file of the source, and where it goes."""

    source: Path
    goal: Path
    names_ids: bool
    """Whether ids of entries stand in it, line by line."""


def carried(found: Target, new_id: str, project_dir: Path | None = None) -> list[Carried]:
    """The files of a session that a new one gets copies of; links are left out (`left_out`)."""
    if found.config_dir is None:
        return []
    mine = belongings(found.config_dir, found.path.parent, found.session_id)
    folder = (project_dir or found.path.parent) / new_id
    files = [*_within(found, mine.subagents, folder), *_within(found, mine.tool_results, folder)]
    files += _within(found, mine.workflows, folder)
    for path in mine.loose_agents:
        files.append(Carried(path, folder / "subagents" / path.name, True))
        meta = path.with_suffix(".meta.json")
        files += [Carried(meta, folder / "subagents" / meta.name, True)] if meta.exists() else []
    for kind, paths in (("file-history", mine.file_history), ("tasks", mine.tasks)):
        base, new = found.config_dir / kind / found.session_id, found.config_dir / kind / new_id
        files += [Carried(path, new / path.relative_to(base), False) for path in paths]
    todos = found.config_dir / "todos"
    files += [Carried(path, todos / path.name.replace(found.session_id, new_id), False) for path in mine.todos]
    return [file for file in files if _is_own(found, file.source)]


def left_out(found: Target) -> list[Path]:
    """The links among what belongs to a session: they are not followed, so what they lead to does not go along."""
    if found.config_dir is None:
        return []
    own = found.session_id
    tops = (found.session_dir, found.config_dir / "file-history" / own, found.config_dir / "tasks" / own)
    return sorted(link for top in tops for link in _links(top))


def _links(top: Path) -> Iterator[Path]:
    if top.is_symlink():
        yield top
        return
    for base, folders, names in os.walk(top):
        yield from (path for name in (*folders, *names) if (path := Path(base, name)).is_symlink())


def _is_own(found: Target, path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and not found.reaches_by_link(path)


def _within(found: Target, paths: tuple[Path, ...], folder: Path) -> Iterator[Carried]:
    for path in paths:
        names_ids = path.suffix in (".jsonl", ".json")
        yield Carried(path, folder / path.relative_to(found.session_dir), names_ids)
