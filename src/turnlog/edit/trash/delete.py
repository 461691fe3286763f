"""Deleting a session with everything that belongs to it, into the trash.

Plans are shared: one that another session of the config folder names stays. What was typed (`history.jsonl`) stays
too, unless the caller asks: the client offers it to all sessions of a project.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.open_signs import OpenSign, find_open_signs, select_blocking_signs
from turnlog.edit.session_target import SessionTarget, check_changeable, find_target
from turnlog.edit.trash.entry import TrashEntry, TrashItem, TrashManifest, describe_item
from turnlog.edit.trash.trash import Trash
from turnlog.edit.trash.undelete import HISTORY_FILE_NAME
from turnlog.entries.agents import list_loose_agents
from turnlog.entries.atomic_file import read_whole_file
from turnlog.entries.belongings import list_belongings
from turnlog.entries.history import split_history
from turnlog.entries.layout import Survey, list_session_files
from turnlog.entries.peek import complete_titles, peek_safely
from turnlog.entries.plans import find_plans_in_use, read_plan_names
from turnlog.entries.writer import replace_session_file
from turnlog.errors import Busy


class DeletionPlan(NamedTuple):
    """A session that is to be deleted."""

    target: SessionTarget
    config_dir: Path
    title: str | None
    project: str | None
    paths: tuple[Path, ...]
    """All that goes; folders before what is in them, the session file last."""
    shared_plans: tuple[Path, ...]
    """Plans that stay, because other sessions name them."""
    history_lines: int
    """How many lines of the history are the session's."""


def plan_deletion(path: Path) -> DeletionPlan:
    """List what would go with a session."""
    found = find_target(path)
    check_changeable(found)
    config_dir = found.config_dir or Path()
    ends = peek_safely(str(path))
    plans, shared = _find_plans(found, config_dir)
    return DeletionPlan(
        found,
        config_dir,
        complete_titles(str(path), ends).best,
        ends.cwd,
        (*_list_below([*_list_roots(found, config_dir), *plans]), found.path),
        shared,
        split_history(_read_history(config_dir), found.session_id).lines,
    )


def refuse_busy_deletion(found: DeletionPlan, *, force: bool = False, asked: bool = False) -> list[OpenSign]:
    """Refuse a session that is open elsewhere; `force` and `asked` override doubts (`select_blocking_signs`).

    Gives the doubts that only the user can settle.
    """
    seen = find_open_signs(found.target)
    blocking = select_blocking_signs(seen, force=force, asked=asked)
    if blocking:
        raise Busy(f"{found.target.session_id}: {blocking[0].words}; {blocking[0].remedy}")
    return [sign for sign in seen if sign.is_question]


def delete_session(
    path: Path, trash: Trash, *, history: bool = False, force: bool = False, asked: bool = False
) -> TrashEntry:
    """Move a session into the trash, and with `history` take its lines out of what was typed; all or nothing."""
    with trash.lock_journal():
        return _move_to_trash(path, trash, history=history, force=force, asked=asked)


def _move_to_trash(path: Path, trash: Trash, *, history: bool, force: bool, asked: bool) -> TrashEntry:
    _settle_interrupted(find_target(path), trash)
    found = plan_deletion(path)
    refuse_busy_deletion(found, force=force, asked=asked)
    whole = read_whole_file(found.config_dir / HISTORY_FILE_NAME) if history and found.history_lines else None
    manifest = TrashManifest(
        session_id=found.target.session_id,
        title=found.title,
        project=found.project,
        config_dir=str(found.config_dir),
        deleted=datetime.now(UTC).isoformat(),
        items=tuple(_list_items(found)),
        history_lines=found.history_lines if whole else 0,
        links=_list_folder_links(found),
    )
    entry = trash.put_session(manifest, whole.data if whole else None)
    if whole:
        kept = split_history(whole.data, found.target.session_id).kept
        try:
            replace_session_file(
                found.config_dir / HISTORY_FILE_NAME, kept, root=found.config_dir, expected=whole.checkpoint
            )
        except BaseException:
            trash.restore(entry)
            raise
    return entry


def _settle_interrupted(found: SessionTarget, trash: Trash) -> None:
    """Put back what an interrupted deletion of the same session has moved already, so that it goes as a whole."""
    for entry in trash.list_entries().entries:
        same = entry.manifest.session_id, entry.manifest.config_dir
        if same == (found.session_id, str(found.config_dir)) and not entry.is_complete:
            trash.restore(entry)


def _list_folder_links(found: DeletionPlan) -> dict[str, str]:
    """The folders of the config folder, among those that something goes from, that are links."""
    tops = {path.relative_to(found.config_dir).parts[0] for path in found.paths}
    places = {top: found.config_dir / top for top in sorted(tops)}
    return {top: os.path.realpath(path) for top, path in places.items() if path.is_symlink() and path.is_dir()}


def _list_items(found: DeletionPlan) -> Iterator[TrashItem]:
    return (describe_item(path, found.config_dir) for path in found.paths)


def _list_roots(found: SessionTarget, config_dir: Path) -> Iterator[Path]:
    """The files and folders that belong to a session, whatever is in them."""
    own = found.session_id
    loose = list_loose_agents(found.path.parent)
    mine = list_belongings(config_dir, found.path.parent, own, loose=loose)
    yield from (found.session_dir, config_dir / "file-history" / own, config_dir / "tasks" / own)
    yield from (*mine.loose_agents, *(agent.meta_path for agent in loose.get(own, []) if agent.meta_path))
    yield from (*mine.todos, *mine.other, *filter(None, (mine.session_env, mine.debug)))


def _find_plans(found: SessionTarget, config_dir: Path) -> tuple[list[Path], tuple[Path, ...]]:
    """The plans of a session alone, and those it shares."""
    names = {
        path: path.stem
        for path in list_belongings(config_dir, found.path.parent, "", read_plan_names(found.path)).plans
    }
    survey = Survey()
    others = [file.path for file in list_session_files(config_dir, survey) if file.path != found.path]
    # A session that can't be looked at may have them too.
    shared = set(names.values()) if survey.unlisted else find_plans_in_use(names.values(), others)
    return [path for path in names if names[path] not in shared], tuple(p for p in names if names[p] in shared)


def _list_below(roots: Iterable[Path]) -> list[Path]:
    """Everything at and below some paths, each once; links are not followed."""
    found: dict[Path, None] = {}
    for root in roots:
        if os.path.lexists(root):
            found[root] = None
        if root.is_symlink() or not root.is_dir():
            continue
        for base, folders, names in os.walk(root):
            found.update(dict.fromkeys(Path(base, name) for name in sorted(folders + names)))
    return list(found)


def _read_history(config_dir: Path) -> bytes:
    try:
        return read_whole_file(config_dir / HISTORY_FILE_NAME).data
    except OSError:
        return b""
