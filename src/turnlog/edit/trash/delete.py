"""Moves a session and everything that belongs to it into the trash.

Plans are shared: a plan that another session in the config folder refers to is kept. The prompt history
(`history.jsonl`) is also kept unless the caller asks otherwise, because Claude Code offers it in all sessions of a
project.
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
from turnlog.entries.belongings import find_plan_files, list_belongings
from turnlog.entries.history import split_history
from turnlog.entries.layout import Survey, list_session_files
from turnlog.entries.peek import complete_titles, peek_safely
from turnlog.entries.plans import find_plans_in_use, read_plan_names
from turnlog.entries.writer import replace_session_file
from turnlog.errors import Busy


class DeletionPlan(NamedTuple):
    target: SessionTarget
    config_dir: Path
    title: str | None
    project: str | None
    paths: tuple[Path, ...]
    """Everything that is moved to the trash: folders before their contents, and the session file last."""
    shared_plans: tuple[Path, ...]
    """Plans that are kept, because other sessions refer to them."""
    history_lines: int
    """The number of lines in the prompt history that belong to the session."""


def plan_deletion(path: Path) -> DeletionPlan:
    """List what would be deleted with a session."""
    target = find_target(path)
    check_changeable(target)
    config_dir = target.config_dir or Path()
    ends = peek_safely(str(path))
    plans, shared = _find_plans(target, config_dir)
    return DeletionPlan(
        target,
        config_dir,
        complete_titles(str(path), ends).best,
        ends.cwd,
        (*_list_below([*_list_roots(target, config_dir), *plans]), target.path),
        shared,
        split_history(_read_history(config_dir), target.session_id).lines,
    )


def refuse_busy_deletion(plan: DeletionPlan, *, force: bool = False, asked: bool = False) -> list[OpenSign]:
    """Raise `Busy` if a session is open elsewhere; `force` and `asked` override some signs (`select_blocking_signs`).

    Return the signs that only the user can resolve.
    """
    signs = find_open_signs(plan.target)
    blocking = select_blocking_signs(signs, force=force, asked=asked)
    if blocking:
        raise Busy(f"{plan.target.session_id}: {blocking[0].words}; {blocking[0].remedy}")
    return [sign for sign in signs if sign.is_question]


def delete_session(
    path: Path, trash: Trash, *, history: bool = False, force: bool = False, asked: bool = False
) -> TrashEntry:
    """Move a session and, with `history`, its lines in the prompt history into the trash, completely or not at all."""
    with trash.lock_journal():
        return _move_to_trash(path, trash, history=history, force=force, asked=asked)


def _move_to_trash(path: Path, trash: Trash, *, history: bool, force: bool, asked: bool) -> TrashEntry:
    _settle_interrupted(find_target(path), trash)
    plan = plan_deletion(path)
    refuse_busy_deletion(plan, force=force, asked=asked)
    whole = read_whole_file(plan.config_dir / HISTORY_FILE_NAME) if history and plan.history_lines else None
    manifest = TrashManifest(
        session_id=plan.target.session_id,
        title=plan.title,
        project=plan.project,
        config_dir=str(plan.config_dir),
        deleted=datetime.now(UTC).isoformat(),
        items=tuple(_list_items(plan)),
        history_lines=plan.history_lines if whole else 0,
        links=_list_folder_links(plan),
    )
    entry = trash.put_session(manifest, whole.data if whole else None)
    if whole:
        kept = split_history(whole.data, plan.target.session_id).kept
        try:
            replace_session_file(
                plan.config_dir / HISTORY_FILE_NAME, kept, root=plan.config_dir, expected=whole.checkpoint
            )
        except BaseException:
            trash.restore(entry)
            raise
    return entry


def _settle_interrupted(target: SessionTarget, trash: Trash) -> None:
    """Restore what an interrupted deletion of the same session has already moved, so that all of it can be deleted."""
    for entry in trash.list_session_entries(target.session_id):
        if entry.manifest.config_dir == str(target.config_dir) and not entry.is_complete:
            trash.restore(entry)


def _list_folder_links(plan: DeletionPlan) -> dict[str, str]:
    """Return the top-level folders of the config folder that are links and from which something is deleted."""
    tops = {path.relative_to(plan.config_dir).parts[0] for path in plan.paths}
    places = {top: plan.config_dir / top for top in sorted(tops)}
    return {top: os.path.realpath(path) for top, path in places.items() if path.is_symlink() and path.is_dir()}


def _list_items(plan: DeletionPlan) -> Iterator[TrashItem]:
    return (describe_item(path, plan.config_dir) for path in plan.paths)


def _list_roots(target: SessionTarget, config_dir: Path) -> Iterator[Path]:
    """Yield the files and folders that belong to a session, regardless of their contents."""
    own = target.session_id
    loose = list_loose_agents(target.path.parent)
    belongings = list_belongings(config_dir, target.path.parent, own, loose=loose)
    yield from (target.session_dir, config_dir / "file-history" / own, config_dir / "tasks" / own)
    yield from (*belongings.loose_agents, *(agent.meta_path for agent in loose.get(own, []) if agent.meta_path))
    yield from (*belongings.todos, *belongings.other, *filter(None, (belongings.session_env, belongings.debug)))


def _find_plans(target: SessionTarget, config_dir: Path) -> tuple[list[Path], tuple[Path, ...]]:
    """Return the plans that only this session uses, and those that it shares."""
    names = {path: path.stem for path in find_plan_files(config_dir, read_plan_names(target.path))}
    if not names:
        return [], ()
    survey = Survey()
    others = [file.path for file in list_session_files(config_dir, survey) if file.path != target.path]
    # A session that can't be read may refer to them too.
    shared = set(names.values()) if survey.unlisted else find_plans_in_use(names.values(), others)
    return [path for path in names if names[path] not in shared], tuple(p for p in names if names[p] in shared)


def _list_below(roots: Iterable[Path]) -> list[Path]:
    """List everything at and below some paths, without duplicates; links are not followed."""
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
