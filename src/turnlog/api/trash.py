"""Moves sessions to the trash, restores them, and empties the trash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct

from turnlog.api.config import Config, data_dir
from turnlog.api.lookup import Notify, locate_sessions
from turnlog.edit.trash.delete import DeletionPlan, plan_deletion, refuse_busy_deletion
from turnlog.edit.trash.delete import delete_session as move_to_trash
from turnlog.edit.trash.entry import TrashEntry, find_newest_entry, find_trash_entry
from turnlog.edit.trash.trash import Trash
from turnlog.entries.agents import list_folders_once
from turnlog.session.clock import to_iso_time

_MAX_AGE_DAYS = 36_500


class SessionDeletion(Struct, frozen=True):
    """A session that was (or would be) moved to the trash, with everything that belongs to it."""

    session_id: str
    title: str | None
    paths: tuple[Path, ...]
    """Everything that is moved, with folders before their contents and the transcript last."""
    shared_plans: tuple[Path, ...]
    """Plans that are kept because other sessions use them."""
    files: int
    bytes: int
    history_lines: int
    """Lines of history.jsonl that belong to the session; they are removed only with `history`."""


class Deletions(Struct, frozen=True):
    """The sessions that were (or would be) deleted."""

    sessions: tuple[SessionDeletion, ...]
    doubts: tuple[str, ...]
    """Why one of the sessions may be open in Claude Code."""
    deleted: bool
    """False after a dry run, or if `confirm` returned False."""


class TrashedSession(Struct, frozen=True):
    """A session in the trash."""

    name: str
    """Its name in the trash."""
    session_id: str
    title: str | None
    project: str | None
    config_dir: str
    deleted: str
    files: int
    size: int
    history_lines: int
    complete: bool
    """False if deleting or restoring was interrupted and some files are still at their old location."""
    path: Path
    """Its folder in the trash."""


class TrashList(Struct, frozen=True):
    """The sessions in the trash, newest first."""

    deleted: tuple[TrashedSession, ...]
    unreadable: list[str]
    """Entries in the trash that can't be read, with the reason."""


class Undeletion(Struct, frozen=True):
    """A session that was restored from the trash."""

    session: TrashedSession
    files: int
    """The number of restored files."""
    joined: tuple[Path, ...]
    """Files that Claude Code continued; their new lines follow the original ones."""
    aside: tuple[Path, ...]
    """The new paths of files that were in the way."""
    altered: list[str]
    """Files that were changed in the trash."""
    lost: list[str]
    """Files that are no longer in the trash."""


class EmptiedTrash(Struct, frozen=True):
    """The sessions that were (or would be) permanently removed."""

    dry_run: bool
    sessions: tuple[TrashedSession, ...]
    bytes_freed: int


def open_trash() -> Trash:
    return Trash(data_dir() / "trash")


def delete_session(
    session: str | Path,
    *,
    history: bool = False,
    force: bool = False,
    dry_run: bool = False,
    config: Config | None = None,
    notify: Notify | None = None,
) -> Deletions:
    """Move a session and everything that belongs to it to the trash; `undelete_session` restores it."""
    return delete_sessions([session], history=history, force=force, dry_run=dry_run, config=config, notify=notify)


@list_folders_once()
def delete_sessions(
    sessions: Sequence[str | Path],
    *,
    history: bool = False,
    force: bool = False,
    dry_run: bool = False,
    confirm: Callable[[Deletions], bool] | None = None,
    config: Config | None = None,
    notify: Notify | None = None,
) -> Deletions:
    """Move sessions to the trash, after checking all of them.

    `history` also removes their prompts from history.jsonl. A session that is open in Claude Code is not deleted. If a
    session may be open, the `confirm` callback decides; with neither `confirm` nor `force`, nothing is deleted.
    """
    paths = list(dict.fromkeys(locate_sessions(sessions, config, notify)))
    plans = [plan_deletion(path) for path in paths]
    planned = tuple(map(_to_deletion, plans))
    if dry_run:
        return Deletions(planned, (), deleted=False)
    has_confirm = confirm is not None
    doubts = [sign.words for plan in plans for sign in refuse_busy_deletion(plan, force=force, asked=has_confirm)]
    found = Deletions(planned, tuple(dict.fromkeys(doubts)), deleted=True)
    if confirm is not None and not confirm(found):
        return Deletions(planned, found.doubts, deleted=False)
    trash = open_trash()
    with trash.lock_journal():
        for path in paths:
            move_to_trash(path, trash, history=history, force=force, asked=has_confirm)
    return found


def list_trash() -> TrashList:
    """List the sessions in the trash, newest first."""
    listing = open_trash().list_entries()
    return TrashList(tuple(map(_to_trashed_session, listing.entries)), listing.unreadable)


def undelete_session(name: str | None = None, *, force: bool = False) -> Undeletion:
    """Restore a session by id, start of an id, title or name in the trash; None means the most recently deleted one.

    Nothing is overwritten: if a file is in the way, the call fails or, with `force`, moves that file aside.
    """
    trash = open_trash()
    entries = trash.list_entries().entries
    entry = find_newest_entry(entries) if name is None else find_trash_entry(name, entries)
    session = _to_trashed_session(entry)
    done = trash.restore(entry, force=force)
    return Undeletion(session, session.files - len(done.lost), done.joined, done.aside, done.altered, done.lost)


def empty_trash(older_than_days: float = 0, *, dry_run: bool = False) -> EmptiedTrash:
    """Permanently remove sessions that were deleted at least this many days ago."""
    trash, age = open_trash(), timedelta(days=min(older_than_days, _MAX_AGE_DAYS))
    removed = tuple(map(_to_trashed_session, trash.list_ripe(age) if dry_run else trash.empty(age)))
    return EmptiedTrash(dry_run, removed, sum(session.size for session in removed))


def _to_deletion(plan: DeletionPlan) -> SessionDeletion:
    files = [path for path in plan.paths if path.is_symlink() or not path.is_dir()]
    return SessionDeletion(
        plan.target.session_id,
        plan.title,
        plan.paths,
        plan.shared_plans,
        len(files),
        sum(path.lstat().st_size for path in files),
        plan.history_lines,
    )


def _to_trashed_session(entry: TrashEntry) -> TrashedSession:
    manifest = entry.manifest
    return TrashedSession(
        entry.name,
        manifest.session_id,
        manifest.title,
        manifest.project,
        manifest.config_dir,
        to_iso_time(datetime.fromisoformat(manifest.deleted)) or "",
        len(manifest.files),
        manifest.size,
        manifest.history_lines,
        entry.is_complete,
        entry.folder,
    )
