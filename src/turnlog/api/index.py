"""The index of all sessions, up to date, for the functions that need it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from turnlog.api.config import Config, data_dir
from turnlog.api.lookup import MAX_NAMED_FILES, Notify, list_config_folders, mention_unlisted
from turnlog.errors import TurnlogError
from turnlog.store.index.file_changes import TranscriptLister, has_archive_changed
from turnlog.store.index.refresh import RefreshResult
from turnlog.store.index_file_name import build_index_name
from turnlog.store.store import Store

Progress = Callable[[int, int], None]
"""Takes how much is done, and of how much."""


@contextmanager
def open_index(
    config: Config, *, fresh: bool = True, notify: Notify | None = None, progress: Progress | None = None
) -> Iterator[tuple[Store, RefreshResult]]:
    """Open the index and bring it up to date; on a machine without sessions, that of the demo."""
    notify = notify or _ignore
    with Store.open(data_dir(), notify, build_index_name(config.config_dirs)) as found:
        folders = [folder.absolute() for folder in list_config_folders(config)]
        done = refresh_index(found, folders, notify=notify, progress=progress) if fresh else RefreshResult()
        if fresh:
            adopt_archived_sessions(found, folders, notify)
        if not fresh or done.known or done.unlisted or done.is_busy or _has_files(found):
            with _replace_damaged_index(found):
                yield found, done
            return
    with _open_demo_index(notify) as pair:
        yield pair


@contextmanager
def open_other_index(
    config: Config, *, notify: Notify | None = None, progress: Progress | None = None
) -> Iterator[tuple[Store, RefreshResult]]:
    """Open the index of the `.jsonl` files whose names are not session ids, up to date; it is a file of its own."""
    from turnlog.entries.transcript_files import other_transcripts

    notify = notify or _ignore
    name = build_index_name(config.config_dirs).replace("index", "others", 1)
    with Store.open(data_dir(), notify, name) as found:
        folders = [folder.absolute() for folder in list_config_folders(config)]
        done = refresh_index(found, folders, other_transcripts, notify=notify, progress=progress)
        with _replace_damaged_index(found):
            yield found, done


def refresh_index(
    found: Store,
    folders: list[Path],
    lister: TranscriptLister | None = None,
    *,
    notify: Notify,
    progress: Progress | None = None,
) -> RefreshResult:
    """Bring an index up to date, and say what is missing from it."""
    done = found.refresh(folders, progress or _ignore_progress, lister)
    if done.is_busy:
        notify("Another turnlog is bringing the index up to date; this is what it holds so far.")
    if done.left:
        notify(f"Interrupted: {done.left} files are not in the index yet; the next command goes on with them.")
    for reason in done.unread[:MAX_NAMED_FILES]:
        notify(f"Not in the index: {reason}")
    if len(done.unread) > MAX_NAMED_FILES:
        notify(f"… and {len(done.unread) - MAX_NAMED_FILES} more files that can't be read.")
    mention_unlisted(done.unlisted, notify)
    return done


def adopt_archived_sessions(found: Store, folders: list[Path], notify: Notify) -> None:
    """Take in what only the archive has."""
    if not has_archive_changed(found.db, data_dir() / "archive"):
        return
    from turnlog.store.archive.archive import Archive
    from turnlog.store.file_lock import try_lock_file
    from turnlog.store.index.adoption import adopt_from_archive

    with try_lock_file(found.lock) as is_ours:
        done = adopt_from_archive(found.db, Archive(data_dir()), folders) if is_ours else None
    if done and done.files:
        notify(f"Deleted files that were read from the archive: {done.files}.")
    for reason in done.unread[:MAX_NAMED_FILES] if done else ():
        notify(f"Not in the index: {reason}; `turnlog archive verify` tells more.")


def _has_files(found: Store) -> bool:
    return bool(found.db.execute("SELECT EXISTS (SELECT 1 FROM file)").get)


def _ignore(_: str) -> None:
    return None


def _ignore_progress(_: int, __: int) -> None:
    return None


@contextmanager
def _replace_damaged_index(found: Store) -> Iterator[None]:
    """Put an index aside that turns out to be damaged while it is read: the next command makes it again."""
    try:
        yield
    except apsw.Error as error:
        if not found.shows_damage(error):
            raise
        found.recreate_index(error)
        raise TurnlogError("the index was damaged where the answer was; run the command again") from error


@contextmanager
def _open_demo_index(notify: Notify) -> Iterator[tuple[Store, RefreshResult]]:
    from tempfile import TemporaryDirectory

    from turnlog.demo import config_dir

    notify("There are no Claude Code sessions on this machine; these are made-up ones (demo).")
    with TemporaryDirectory(prefix="turnlog-demo-") as folder, Store.open(Path(folder), notify) as found:
        yield found, found.refresh([config_dir()])
