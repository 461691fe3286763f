"""Changes sessions in place (titles, tags and moved projects), and reverts these changes with `undo`."""

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
"""Takes the reasons why a session may be open in Claude Code, and returns whether to continue."""
_WINDOWS_PATH = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_MAX_AGE_DAYS = 36_500


# -- titles and tags


class AppendedLabel(Struct, frozen=True):
    """A title or a tag that was given to a session."""

    session_id: str
    value: str
    """The title or the tag; empty if a tag was removed."""
    open_elsewhere: str | None
    """Why Claude Code may write the old title or tag again; None if the session is not open."""


def rename_session(
    session: str | Path, title: str, *, config: Config | None = None, notify: Notify | None = None
) -> AppendedLabel:
    """Give a session a title, as Claude Code does; `undo` reverts this."""
    return _to_label(append_title(locate_session(session, config, notify), title, open_undo_store()))


def tag_session(
    session: str | Path, tag: str | None, *, config: Config | None = None, notify: Notify | None = None
) -> AppendedLabel:
    """Give a session a tag, or remove its tag if `tag` is None, as Claude Code does; `undo` reverts this."""
    return _to_label(append_tag(locate_session(session, config, notify), tag, open_undo_store()))


def _to_label(result: AppendResult) -> AppendedLabel:
    sign = next((sign.words for sign in result.busy if sign.is_certain), None)
    return AppendedLabel(result.target.session_id, result.value, sign)


# -- projects


class ProjectFolder(Struct, frozen=True):
    """A folder of sessions that moves with its project."""

    old: Path
    new: Path
    """The same as `old` if only paths in its files change."""
    sessions: tuple[str, ...]


class ProjectMove(Struct, frozen=True):
    """The changes that a project move made or would make."""

    old_path: str
    new_path: str
    dry_run: bool
    folders: tuple[ProjectFolder, ...]
    files: int
    """Files whose content changed."""
    lines: int
    links: tuple[Path, ...]
    """Links among the files. They are not followed, so the files behind them keep the old paths."""
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
    """Move the sessions of a project whose folder was renamed or moved; the folder itself is not moved.

    `text` also changes paths in prompts, answers and tool results; `merge` allows a target project that already has
    sessions. If a session may be open in Claude Code, the `confirm` callback decides; with neither `confirm` nor
    `force`, the move fails. `undo` reverts everything.
    """
    from turnlog.edit.move.move import list_moved_targets, rehearse_move
    from turnlog.edit.move.move import move_project as move_sessions
    from turnlog.edit.move.move_plan import list_moved_links

    plan = _plan_move(str(old_path), _to_real_path(str(new_path)), config or load_config())
    not_followed = tuple(path for folder in plan.folders for path in list_moved_links(folder))
    if dry_run:
        done = rehearse_move(plan, text=text)
    else:
        is_confirmed = not force and _is_confirmed(confirm, list_doubts(list_moved_targets(plan)))
        done = move_sessions(
            plan, open_undo_store(), text=text, merge=merge, force=force, asked=is_confirmed, progress=progress
        )
    if notify:
        _mention_move(plan, notify, dry_run=dry_run, merge=merge)
    folders = tuple(ProjectFolder(folder.source, folder.goal, tuple(folder.sessions)) for folder in plan.folders)
    old, new = plan.translation.old, plan.translation.new
    change = done.record.name if done.record else None
    return ProjectMove(old, new, done.record is None, folders, done.files, done.lines, not_followed, change)


def _plan_move(old: str, new: str, config: Config) -> MovePlan:
    """Plan the move of a path as typed or, if it has no sessions, of the path that its links resolve to."""
    from turnlog.edit.move.move_plan import plan_move

    typed = _to_absolute_path(old)
    if typed == new:
        raise UsageError(f"{typed}: the old and new paths are the same")
    try:
        return plan_move(typed, new, list_config_folders(config))
    except NotFound:
        real = os.path.realpath(typed)
        if real in (typed, new) or _WINDOWS_PATH.match(typed):
            raise
        return plan_move(real, new, list_config_folders(config))


def _to_absolute_path(path: str) -> str:
    """Make a path absolute; a Windows path is returned unchanged on every system."""
    return path if _WINDOWS_PATH.match(path) else os.path.abspath(Path(path).expanduser())  # noqa: PTH100 - resolve() would follow links


def _to_real_path(path: str) -> str:
    """Resolve the links that exist, because Claude Code records the real path of a folder."""
    whole = _to_absolute_path(path)
    return whole if _WINDOWS_PATH.match(whole) else os.path.realpath(whole)


def _mention_move(plan: MovePlan, notify: Notify, *, dry_run: bool, merge: bool) -> None:
    for folder in plan.folders:
        if not folder.is_whole:
            notify(
                f"{folder.source}: another project uses the same folder; the sessions of that project and"
                " the files that both projects share are not moved."
            )
    if dry_run and plan.taken_folders and not merge:
        notify(f"{plan.taken_folders[0]}: already present; use --merge to move the sessions there.")


# -- undo


class FileEffect(Struct, frozen=True):
    """The effect of a change on one file."""

    kind: str
    """rewrite, create, rename, remove or append."""
    path: str
    to: str | None


class Change(Struct, frozen=True):
    """A change that turnlog made to Claude Code's files."""

    name: str
    verb: str
    """The command that made it."""
    words: str
    when: str
    state: str
    """done, undone, or begun (interrupted)."""
    sessions: tuple[str, ...]
    files: tuple[FileEffect, ...]
    kept_size: int
    """The total size of the files that are kept for it, in bytes."""
    path: Path
    """Its folder in turnlog's data folder."""


class ChangeList(Struct, frozen=True):
    """The changes that turnlog made, newest first."""

    changes: tuple[Change, ...]
    unreadable: list[str]
    """Records that can't be read, with the reason."""


class LaterFile(Struct, frozen=True):
    """A file that was written after the change, at a path from which the change had moved a file."""

    path: Path
    fate: str
    """returned: it is kept; joined: its lines follow the original; aside: it is moved to the folder of the change."""
    needs_force: bool


class UndoObstacle(Struct, frozen=True):
    """A reason why a change can't be undone."""

    words: str
    is_final: bool
    """Whether it applies even with force."""


class UndoResult(Struct, frozen=True):
    """A change that was (or would be) undone."""

    change: Change
    dry_run: bool
    later_files: tuple[LaterFile, ...]
    obstacles: tuple[UndoObstacle, ...]
    """Only after a dry run; otherwise an obstacle raises an error."""
    replaced: Path | None = None
    """The folder with the files that the undo replaced."""


class PrunedChanges(Struct, frozen=True):
    """The changes whose originals were (or would be) removed."""

    dry_run: bool
    changes: tuple[Change, ...]
    bytes_freed: int


def open_undo_store() -> Undo:
    """Open the record of the changes that turnlog made on this machine."""
    return Undo(data_dir() / "undo")


def list_changes() -> ChangeList:
    """List the changes that turnlog made in place, newest first."""
    store = open_undo_store()
    listing = store.list_entries()
    return ChangeList(tuple(_to_change(store, record) for record in listing.entries), listing.unreadable)


def undo(
    change: str | None = None, *, force: bool = False, dry_run: bool = False, confirm: Confirm | None = None
) -> UndoResult:
    """Undo turnlog's latest change, or the change with the given name or session id, byte for byte.

    A file that was written after the change is restored only with `force`, which keeps a copy of its current content.
    If a session may be open in Claude Code, the `confirm` callback decides; with neither `confirm` nor `force`, the
    call fails.
    """
    store = open_undo_store()
    records = store.list_records()
    record = find_last_change(records) if change is None else find_change(change, records)
    before = _to_change(store, record)
    later = tuple(map(_to_later_file, find_stubs(record)))
    if dry_run:
        obstacles = tuple(UndoObstacle(item.words, item.is_final) for item in store.list_troubles(record))
        return UndoResult(before, True, later, obstacles)
    is_confirmed = not force and _is_confirmed(confirm, list_doubts(find_touched_targets(record.places)))
    store.undo_record(record, force=force, asked=is_confirmed)
    replaced = record.folder / "made"
    return UndoResult(before, False, later, (), replaced if force and replaced.is_dir() else None)


def prune_changes(older_than_days: float, *, dry_run: bool = False) -> PrunedChanges:
    """Remove the originals of old changes to free space; these changes can no longer be undone."""
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
