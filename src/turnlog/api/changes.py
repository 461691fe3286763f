"""Changes to sessions in place, and how to take them back: titles, tags, projects that moved, `undo`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from turnlog.api.config import Config, data_dir, load_config
from turnlog.api.lookup import Notify, list_config_folders, locate_session
from turnlog.edit.rename import AppendResult
from turnlog.edit.rename import rename_session as append_title
from turnlog.edit.tag import tag_session as append_tag
from turnlog.edit.undo.record import UndoRecord
from turnlog.edit.undo.stubs import Stub, find_stub_needing_force, find_stubs
from turnlog.edit.undo.touched_sessions import find_change, find_last_change, find_touched_targets, list_doubts
from turnlog.edit.undo.undo import Undo
from turnlog.errors import NotFound, UsageError
from turnlog.session.clock import to_iso_time

if TYPE_CHECKING:
    from turnlog.api.index import Progress
    from turnlog.edit.move.move_plan import MovePlan

Confirm = Callable[[Sequence[str]], bool]
"""Takes the reasons why a session may be open in a client, and tells whether to go on."""
_WINDOWS_PATH = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_MAX_AGE_DAYS = 36_500


# -- titles and tags


class AppendedLabel(Struct, frozen=True):
    """A title or a tag that a session got."""

    session_id: str
    value: str
    """The title or the tag; empty where a tag was removed."""
    open_elsewhere: str | None
    """Why a client may bring back what the session was called before; None if none has it open."""


def rename_session(
    session: str | Path, title: str, *, config: Config | None = None, notify: Notify | None = None
) -> AppendedLabel:
    """Give a session a title, the way the client does; `undo` takes it away again."""
    return _to_label(append_title(locate_session(session, config, notify), title, open_undo_store()))


def tag_session(
    session: str | Path, tag: str | None, *, config: Config | None = None, notify: Notify | None = None
) -> AppendedLabel:
    """Give a session a tag, or with None remove it, the way the client does; `undo` takes it back."""
    return _to_label(append_tag(locate_session(session, config, notify), tag, open_undo_store()))


def _to_label(done: AppendResult) -> AppendedLabel:
    sign = next((sign.words for sign in done.busy if sign.is_certain), None)
    return AppendedLabel(done.target.session_id, done.value, sign)


# -- projects


class ProjectFolder(Struct, frozen=True):
    """A folder of sessions that moves with its project."""

    old: Path
    new: Path
    """The same as `old` if only paths in its files change."""
    sessions: tuple[str, ...]


class ProjectMove(Struct, frozen=True):
    """What was changed when a project moved, or would be."""

    old_path: str
    new_path: str
    dry_run: bool
    folders: tuple[ProjectFolder, ...]
    files: int
    """Files whose content changed."""
    lines: int
    links: tuple[Path, ...]
    """Links among the files; they are not followed, and what they lead to keeps the old paths."""
    change: str | None
    """The name of the change, for `undo`; None after a dry run."""


def move_project(
    old_path: str | Path,
    new_path: str | Path,
    *,
    text: bool = False,
    merge: bool = False,
    force: bool = False,
    dry_run: bool = False,
    confirm: Confirm | None = None,
    config: Config | None = None,
    notify: Notify | None = None,
    progress: Progress | None = None,
) -> ProjectMove:
    """Let the sessions of a project follow when its folder was renamed or moved; the folder itself is not moved.

    `text` also changes what was said, `merge` allows a project that has sessions already. Where a client may have a
    session open, `confirm` is asked; without it, and without `force`, the move is refused. `undo` takes all of it back.
    """
    from turnlog.edit.move.move import list_moved_targets, rehearse_move
    from turnlog.edit.move.move import move_project as move_sessions
    from turnlog.edit.move.move_plan import list_moved_links

    plan = _plan_move(str(old_path), _to_real_path(str(new_path)), config or load_config())
    not_followed = tuple(path for folder in plan.folders for path in list_moved_links(folder))
    if dry_run:
        done = rehearse_move(plan, text=text)
    else:
        asked = not force and _is_confirmed(confirm, list_doubts(list_moved_targets(plan)))
        done = move_sessions(
            plan, open_undo_store(), text=text, merge=merge, force=force, asked=asked, progress=progress
        )
    if notify:
        _mention_move(plan, notify, dry_run=dry_run, merge=merge)
    folders = tuple(ProjectFolder(folder.source, folder.goal, tuple(folder.sessions)) for folder in plan.folders)
    old, new = plan.translation.old, plan.translation.new
    change = done.record.name if done.record else None
    return ProjectMove(old, new, done.record is None, folders, done.files, done.lines, not_followed, change)


def _plan_move(old: str, new: str, config: Config) -> MovePlan:
    """Plan for a path as it was typed or, if nothing was written there, for what its links lead to."""
    from turnlog.edit.move.move_plan import plan_move

    typed = _to_absolute_path(old)
    if typed == new:
        raise UsageError(f"{typed}: is both the old and the new path")
    try:
        return plan_move(typed, new, list_config_folders(config))
    except NotFound:
        real = os.path.realpath(typed)
        if real in (typed, new) or _WINDOWS_PATH.match(typed):
            raise
        return plan_move(real, new, list_config_folders(config))


def _to_absolute_path(path: str) -> str:
    """Make a path absolute; one of Windows stays as it is, wherever it is typed."""
    return path if _WINDOWS_PATH.match(path) else os.path.abspath(Path(path).expanduser())  # noqa: PTH100 - no links yet


def _to_real_path(path: str) -> str:
    """Find the path by which the client will know the new folder: links are followed as far as they lead somewhere."""
    whole = _to_absolute_path(path)
    return whole if _WINDOWS_PATH.match(whole) else os.path.realpath(whole)


def _mention_move(plan: MovePlan, notify: Notify, *, dry_run: bool, merge: bool) -> None:
    for folder in plan.folders:
        if not folder.is_whole:
            notify(f"{folder.source}: sessions of another folder with the same short name stay, and what they share.")
    if dry_run and plan.taken_folders and not merge:
        notify(f"{plan.taken_folders[0]}: already exists; --merge is needed.")


# -- undo


class FileEffect(Struct, frozen=True):
    """What a change did to one file."""

    kind: str
    """rewrite, create, rename, remove or append."""
    path: str
    to: str | None


class Change(Struct, frozen=True):
    """A change that turnlog made to files of the client."""

    name: str
    verb: str
    """The command that made it."""
    words: str
    when: str
    state: str
    """done, undone, or begun: it was interrupted."""
    sessions: tuple[str, ...]
    files: tuple[FileEffect, ...]
    kept_size: int
    """Bytes that are kept for it."""
    path: Path
    """Its folder in turnlog's data."""


class ChangeList(Struct, frozen=True):
    """What turnlog has changed, the newest first."""

    changes: tuple[Change, ...]
    unreadable: list[str]
    """What else is there and can't be undone, with the reason."""


class LaterFile(Struct, frozen=True):
    """A file that was written since in the place of one that the change had moved."""

    path: Path
    fate: str
    """returned: it stays; joined: its lines follow the original; aside: it is set aside with the change."""
    needs_force: bool


class UndoObstacle(Struct, frozen=True):
    """What speaks against taking a change back."""

    words: str
    is_final: bool
    """Whether force does not help either."""


class UndoResult(Struct, frozen=True):
    """A change that was taken back, or would be."""

    change: Change
    dry_run: bool
    later_files: tuple[LaterFile, ...]
    obstacles: tuple[UndoObstacle, ...]
    """Only after a dry run; otherwise an obstacle is an error."""
    replaced: Path | None = None
    """Where the files are kept that were there before."""


class PrunedChanges(Struct, frozen=True):
    """Changes that can't be undone any more, or would not be after a dry run."""

    dry_run: bool
    changes: tuple[Change, ...]
    bytes_freed: int


def open_undo_store() -> Undo:
    """Open the record of what turnlog has changed on this machine."""
    return Undo(data_dir() / "undo")


def list_changes() -> ChangeList:
    """List what turnlog has changed in place, and can take back."""
    store = open_undo_store()
    listing = store.list_entries()
    return ChangeList(tuple(_to_change(store, record) for record in listing.entries), listing.unreadable)


def undo(
    change: str | None = None, *, force: bool = False, dry_run: bool = False, confirm: Confirm | None = None
) -> UndoResult:
    """Take back the last change that turnlog made, byte for byte, or the one that a name or a session's id means.

    A file that was written since is not put back, unless by `force`; what is there then is kept. Where a client may
    have a session open, `confirm` is asked; without it, and without `force`, nothing is taken back.
    """
    store = open_undo_store()
    records = store.list_records()
    record = find_last_change(records) if change is None else find_change(change, records)
    before = _to_change(store, record)
    later = tuple(map(_to_later_file, find_stubs(record)))
    if dry_run:
        obstacles = tuple(UndoObstacle(item.words, item.is_final) for item in store.list_troubles(record))
        return UndoResult(before, True, later, obstacles)
    asked = not force and _is_confirmed(confirm, list_doubts(find_touched_targets(record.places)))
    store.undo_record(record, force=force, asked=asked)
    replaced = record.folder / "made"
    return UndoResult(before, False, later, (), replaced if force and replaced.is_dir() else None)


def prune_changes(older_than_days: float, *, dry_run: bool = False) -> PrunedChanges:
    """Free the space of old changes, which can't be undone any more afterwards."""
    store = open_undo_store()
    age = timedelta(days=min(older_than_days, _MAX_AGE_DAYS))
    ripe = tuple(_to_change(store, record) for record in store.list_ripe(age))
    size = sum(item.kept_size for item in ripe)
    if not dry_run:
        names = {record.name for record in store.prune(age)}
        ripe = tuple(item for item in ripe if item.name in names)
    return PrunedChanges(dry_run, ripe, size)


def _to_change(store: Undo, record: UndoRecord) -> Change:
    sessions = dict.fromkeys(target.session_id for target in find_touched_targets(record.places))
    files = tuple(FileEffect(item.kind, item.path, item.to) for item in record.items)
    return Change(
        record.name,
        record.verb,
        record.words,
        to_iso_time(record.moment) or "",
        record.state,
        tuple(sessions),
        files,
        store.measure_kept_size(record),
        record.folder,
    )


def _to_later_file(stub: Stub) -> LaterFile:
    return LaterFile(stub.path, stub.fate, bool(find_stub_needing_force([stub])))


def _is_confirmed(confirm: Confirm | None, doubts: Sequence[str]) -> bool:
    return bool(doubts and confirm and confirm(doubts))
