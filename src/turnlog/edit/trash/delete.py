"""Deleting a session with everything that belongs to it, into the trash.

Plans are shared: one that another session of the config folder names stays. What was typed (`history.jsonl`) stays
too, unless asked for: the client offers it to all sessions of a project.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.busy import Sign, blocking, signs
from turnlog.edit.target import Target, must_be_changeable, target
from turnlog.edit.trash.manifest import Item, Manifest, item
from turnlog.edit.trash.trash import HISTORY, Entry, Trash
from turnlog.entries.agents import loose_agents
from turnlog.entries.belongings import belongings
from turnlog.entries.history import without
from turnlog.entries.layout import Survey, session_files
from turnlog.entries.peeks import complete_titles, look
from turnlog.entries.plans import named_in, plan_names
from turnlog.entries.writer import read_whole, replace
from turnlog.errors import Busy


class Doomed(NamedTuple):
    """A session that is to be deleted."""

    target: Target
    config_dir: Path
    title: str | None
    project: str | None
    paths: tuple[Path, ...]
    """All that goes; folders before what is in them, the session file last."""
    shared_plans: tuple[Path, ...]
    """Plans that stay, because other sessions name them."""
    history_lines: int
    """How many lines of the history are the session's."""


def doomed(path: Path) -> Doomed:
    """List what would go with a session."""
    found = target(path)
    must_be_changeable(found)
    config_dir = found.config_dir or Path()
    ends = look(str(path))
    plans, shared = _plans(found, config_dir)
    return Doomed(
        found,
        config_dir,
        complete_titles(str(path), ends).best,
        ends.cwd,
        (*_below([*_roots(found, config_dir), *plans]), found.path),
        shared,
        without(_history(config_dir), found.session_id).lines,
    )


def refuse_busy(found: Doomed, *, force: bool = False, asked: bool = False) -> list[Sign]:
    """Refuse a session that is open elsewhere; `force` and `asked` put doubts aside (`busy.blocking`).

    Gives the doubts of which only the user can know, and was asked.
    """
    seen = signs(found.target)
    told = blocking(seen, force=force, asked=asked)
    if told:
        raise Busy(f"{found.target.session_id}: {told[0].words}; {told[0].remedy}")
    return [sign for sign in seen if sign.is_question]


def delete(path: Path, trash: Trash, *, history: bool = False, force: bool = False, asked: bool = False) -> Entry:
    """Move a session into the trash, and with `history` take its lines out of what was typed; all or nothing."""
    with trash.locked():
        return _deleted(path, trash, history=history, force=force, asked=asked)


def _deleted(path: Path, trash: Trash, *, history: bool, force: bool, asked: bool) -> Entry:
    _settle(target(path), trash)
    found = doomed(path)
    refuse_busy(found, force=force, asked=asked)
    whole = read_whole(found.config_dir / HISTORY) if history and found.history_lines else None
    manifest = Manifest(
        session_id=found.target.session_id,
        title=found.title,
        project=found.project,
        config_dir=str(found.config_dir),
        deleted=datetime.now(UTC).isoformat(),
        items=tuple(_items(found)),
        history_lines=found.history_lines if whole else 0,
        links=_links(found),
    )
    entry = trash.put(manifest, whole.data if whole else None)
    if whole:
        kept = without(whole.data, found.target.session_id).kept
        try:
            replace(found.config_dir / HISTORY, kept, root=found.config_dir, expected=whole.checkpoint)
        except BaseException:
            trash.restore(entry)
            raise
    return entry


def _settle(found: Target, trash: Trash) -> None:
    """Put back what an interrupted deletion of the same session has moved already, so that it goes as a whole."""
    for entry in trash.listed().entries:
        same = entry.manifest.session_id, entry.manifest.config_dir
        if same == (found.session_id, str(found.config_dir)) and not entry.is_complete:
            trash.restore(entry)


def _links(found: Doomed) -> dict[str, str]:
    """The folders of the config folder, among those that something goes from, that are links."""
    tops = {path.relative_to(found.config_dir).parts[0] for path in found.paths}
    places = {top: found.config_dir / top for top in sorted(tops)}
    return {top: os.path.realpath(path) for top, path in places.items() if path.is_symlink() and path.is_dir()}


def _items(found: Doomed) -> Iterator[Item]:
    return (item(path, found.config_dir) for path in found.paths)


def _roots(found: Target, config_dir: Path) -> Iterator[Path]:
    """The files and folders that belong to a session, whatever is in them."""
    own = found.session_id
    loose = loose_agents(found.path.parent)
    mine = belongings(config_dir, found.path.parent, own, loose=loose)
    yield from (found.session_dir, config_dir / "file-history" / own, config_dir / "tasks" / own)
    yield from (*mine.loose_agents, *(agent.meta_path for agent in loose.get(own, []) if agent.meta_path))
    yield from (*mine.todos, *mine.other, *filter(None, (mine.session_env, mine.debug)))


def _plans(found: Target, config_dir: Path) -> tuple[list[Path], tuple[Path, ...]]:
    """The plans of a session alone, and those it shares."""
    names = {path: path.stem for path in belongings(config_dir, found.path.parent, "", plan_names(found.path)).plans}
    survey = Survey()
    others = [file.path for file in session_files(config_dir, survey) if file.path != found.path]
    # A session that can't be looked at may have them too.
    shared = set(names.values()) if survey.unlisted else named_in(names.values(), others)
    return [path for path in names if names[path] not in shared], tuple(p for p in names if names[p] in shared)


def _below(roots: Iterable[Path]) -> list[Path]:
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


def _history(config_dir: Path) -> bytes:
    try:
        return read_whole(config_dir / HISTORY).data
    except OSError:
        return b""
