"""Opens and updates the index of all sessions, for the functions that need it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw
from msgspec import Struct
from msgspec.structs import replace

from turnlog.api.config import Config, data_dir, load_config
from turnlog.api.lookup import DEMO_NOTICE, MAX_NAMED_FILES, Notify, list_config_folders, mention_unlisted
from turnlog.errors import TurnlogError
from turnlog.store.database_damage import DAMAGE_ERRORS
from turnlog.store.filler import read_pause_reason, resume_filler, start_filler, stop_filler
from turnlog.store.index.coverage import needs_filling, needs_identifiers, read_coverage
from turnlog.store.index.file_changes import TranscriptLister, has_archive_changed, read_other_file_count
from turnlog.store.index.fill_lock import hold_index_lock, is_filler_running
from turnlog.store.index.refresh import RefreshResult
from turnlog.store.index_file_name import build_index_name
from turnlog.store.store import REPLACED_FAULT_START, Store

Progress = Callable[[int, int], None]
"""Called with the amount done and the total."""


@contextmanager
def open_index(
    config: Config,
    *,
    fresh: bool = True,
    is_whole: bool = True,
    notify: Notify | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[Store, RefreshResult]]:
    """Open and update the index, or the demo's index if the machine has no sessions.

    Unless `is_whole` is set, only the conversations of large changes are read first. A background process reads the
    rest, unless the user has turned that off.
    """
    notify = notify or _ignore
    is_whole = is_whole or not config.index_in_background
    with Store.open(data_dir(), notify, build_index_name(config.config_dirs)) as found:
        folders = [folder.absolute() for folder in list_config_folders(config)]
        done = (
            refresh_index(
                found,
                folders,
                is_whole=is_whole,
                leaves_identifiers=config.index_in_background and not found.is_temporary,
                notify=notify,
                progress=progress,
            )
            if fresh
            else RefreshResult()
        )
        if fresh:
            adopt_archived_sessions(found, folders, notify)
        if not fresh or done.known or done.unlisted or done.is_busy or _has_files(found):
            with _replace_damaged_index(found):
                yield found, done
            if fresh and (not is_whole or needs_identifiers(found.db)):
                _start_filler_if_needed(found, config)
            return
    with _open_demo_index(notify) as pair:
        yield pair


@contextmanager
def open_other_index(
    config: Config, *, notify: Notify | None = None, progress: Progress | None = None
) -> Iterator[tuple[Store, RefreshResult]]:
    """Open and update the separate index of the `.jsonl` files whose names are not session ids."""
    from turnlog.entries.transcript_files import list_other_transcripts

    notify = notify or _ignore
    name = build_index_name(config.config_dirs).replace("index", "others", 1)
    with Store.open(data_dir(), notify, name) as found:
        folders = [folder.absolute() for folder in list_config_folders(config)]
        done = refresh_index(found, folders, list_other_transcripts, notify=notify, progress=progress)
        with _replace_damaged_index(found):
            yield found, done


def refresh_index(
    found: Store,
    folders: list[Path],
    lister: TranscriptLister | None = None,
    *,
    is_whole: bool = True,
    leaves_identifiers: bool = False,
    notify: Notify,
    progress: Progress | None = None,
) -> RefreshResult:
    """Update an index, and report what is missing from it."""
    done = found.refresh(
        folders, progress or _ignore_progress, lister, is_whole=is_whole, leaves_identifiers=leaves_identifiers
    )
    if done.is_busy:
        notify("Another turnlog process is updating the index; these results include only what it has read so far.")
    if done.left:
        notify(f"Interrupted; files still to be indexed: {done.left:,}. The next command will continue.")
    for reason in done.unread[:MAX_NAMED_FILES]:
        notify(f"Not in the index: {reason}")
    if len(done.unread) > MAX_NAMED_FILES:
        notify(f"… and {len(done.unread) - MAX_NAMED_FILES} more files that can't be read.")
    mention_unlisted(done.unlisted, notify)
    return done


def adopt_archived_sessions(found: Store, folders: list[Path], notify: Notify) -> None:
    """Add the sessions that only the archive contains."""
    if not has_archive_changed(found.db, data_dir() / "archive"):
        return
    from turnlog.store.archive.archive import Archive
    from turnlog.store.index.adoption import adopt_from_archive

    with hold_index_lock(found.lock) as is_ours:
        done = adopt_from_archive(found.db, Archive(data_dir()), folders) if is_ours else None
    if done and done.files:
        notify(f"Deleted files read from the archive: {done.files}.")
    for reason in done.unread[:MAX_NAMED_FILES] if done else ():
        notify(f"Not indexed: {reason}; run `turnlog archive verify` for details.")


def _start_filler_if_needed(found: Store, config: Config) -> bool:
    if not config.index_in_background or found.is_temporary or not _needs_filler(found.db):
        return False
    return start_filler(found.path, _list_absolute_folders(config))


def _needs_filler(db: apsw.Connection) -> bool:
    return needs_filling(db) or needs_identifiers(db)


def _has_files(found: Store) -> bool:
    return bool(found.db.execute("SELECT EXISTS (SELECT 1 FROM file)").get)


def _ignore(_: str) -> None:
    return None


def _ignore_progress(_: int, __: int) -> None:
    return None


@contextmanager
def _replace_damaged_index(found: Store) -> Iterator[None]:
    """Move the index aside if reading it reveals damage; the next command rebuilds it."""
    try:
        yield
    except (apsw.Error, UnicodeDecodeError) as error:
        if not found.shows_damage(error):
            found.check_permissions(error)
            raise
        what = "a part of the index" if found.discard_damage(error) else "the index"
        raise TurnlogError(f"{what} was damaged and will be rebuilt; run the command again") from error


@contextmanager
def _open_demo_index(notify: Notify) -> Iterator[tuple[Store, RefreshResult]]:
    from tempfile import TemporaryDirectory

    from turnlog.demo import config_dir

    notify(DEMO_NOTICE)
    with TemporaryDirectory(prefix="turnlog-demo-") as folder, Store.open(Path(folder), notify) as found:
        yield found, found.refresh([config_dir()])


# -- the index itself


class IndexRefresh(Struct, frozen=True):
    """The result of updating the index."""

    files: int = 0
    """Files that were read, in whole or in part."""
    bytes: int = 0
    seconds: float = 0.0
    left: int = 0
    """Files that still have to be read, because the update was interrupted."""
    busy: bool = False
    """Whether another process was updating the index, so that nothing was done."""
    unread: tuple[str, ...] = ()
    """Files that can't be read, with the reason."""
    unlisted: tuple[str, ...] = ()
    """Folders and files that can't be accessed, with the reason."""
    others: int = 0
    """`.jsonl` files whose names are not session ids."""


class IndexReport(Struct, frozen=True):
    """The contents of the index."""

    path: str
    size: int
    sessions: int
    without_conversation: int
    without_transcript: int
    files: int
    gone: int
    """Files that have been deleted since they were indexed."""
    unread: int
    """Files that are not in the index yet."""
    read: int
    """The total size of the indexed files, in bytes."""
    texts: int
    messages: int
    calls: int
    others: int
    """`.jsonl` files whose names are not session ids, as of the latest update."""
    share: float
    """The part of the files whose texts are all indexed, from 0 to 1; of the rest, only the conversations are."""
    filling: bool
    """Whether a background process is reading the rest."""
    paused: str | None
    """Why no background process may do so; None if it may."""
    refreshed: IndexRefresh


class IndexVerification(Struct, frozen=True):
    """The problems found in the index."""

    path: str
    faults: list[str]
    unlisted: list[str]
    """Folders and files that can't be accessed, with the reason; they were not compared."""
    waiting: int
    """Files that were added or removed since the last update."""
    cut_texts: int
    """Pieces of text so long that the index contains only their start."""

    @property
    def needs_rebuild(self) -> bool:
        """Whether a fault is in the index itself; the next update reads again what has been moved aside."""
        from turnlog.store.index.upkeep import is_shard_fault

        return not all(is_shard_fault(fault) or fault.startswith(REPLACED_FAULT_START) for fault in self.faults)


def read_index_status(config: Config | None = None, notify: Notify | None = None) -> IndexReport:
    """Report what the index contains, without updating it."""
    with open_index(config or load_config(), fresh=False, notify=notify) as (store, done):
        return _build_report(store, done)


def update_index(
    config: Config | None = None,
    notify: Notify | None = None,
    progress: Progress | None = None,
    *,
    wait: bool = True,
) -> IndexReport:
    """Update the index; functions that need it do this automatically.

    With `wait=False`, a large amount of new text is left to a background process once the conversations are indexed.
    """
    config = config or load_config()
    resume_filler(data_dir() / build_index_name(config.config_dirs))
    with open_index(config, is_whole=wait, notify=notify, progress=progress) as (store, done):
        is_started = not wait and _start_filler_if_needed(store, config)
        report = _build_report(store, done)
        return replace(report, filling=True) if is_started else report


def stop_indexing(config: Config | None = None, notify: Notify | None = None) -> IndexReport:
    """Stop the background process that reads the rest of the index, and start no other until the next update."""
    with open_index(config or load_config(), fresh=False, notify=notify) as (store, done):
        if not stop_filler(store.path):
            raise TurnlogError(f"{store.path}: the background process did not stop; try again later")
        return _build_report(store, done)


def rebuild_index(
    config: Config | None = None, notify: Notify | None = None, progress: Progress | None = None
) -> IndexReport:
    """Empty the index and read all sessions again; data about deleted sessions is kept."""
    config, notify = config or load_config(), notify or _ignore
    folders = _list_absolute_folders(config)
    resume_filler(data_dir() / build_index_name(config.config_dirs))
    with open_index(config, fresh=False, notify=notify) as (store, _):
        _empty_index(store, folders)
        done = refresh_index(store, folders, notify=notify, progress=progress)
        adopt_archived_sessions(store, folders, notify)
        return _build_report(store, done)


def compact_index(config: Config | None = None, notify: Notify | None = None) -> IndexReport:
    """Merge the pieces of the index and free unused space."""
    from turnlog.store.index.upkeep import tidy_index

    with open_index(config or load_config(), fresh=False, notify=notify) as (store, done):
        _run_locked(store, lambda: tidy_index(store.db))
        return _build_report(store, done)


def verify_index(
    config: Config | None = None, notify: Notify | None = None, progress: Progress | None = None
) -> IndexVerification:
    """Check the index for internal consistency and against the session files; a damaged shard is moved aside.

    What was too damaged to be opened is moved aside as well, and counts as a fault.
    """
    from turnlog.store.index.batch_writer import count_cut_texts
    from turnlog.store.index.upkeep import DiskDifference, compare_with_disk, list_index_faults

    config = config or load_config()
    with open_index(config, fresh=False, notify=notify) as (store, _):
        faults = [*store.damage, *list_index_faults(store.db, progress or _ignore_progress)]
        disk, cut_texts = DiskDifference([], [], 0), 0
        with suppress(*DAMAGE_ERRORS):  # the faults already report it
            disk = compare_with_disk(store.db, _list_absolute_folders(config))
            cut_texts = count_cut_texts(store.db)
        if faults:
            store.give_up_damaged_shards()
        return IndexVerification(str(store.path), [*faults, *disk.faults], disk.unlisted, disk.waiting, cut_texts)


def _build_report(store: Store, done: RefreshResult) -> IndexReport:
    refreshed = IndexRefresh(
        done.files, done.bytes, done.seconds, done.left, done.is_busy, done.unread, done.unlisted, done.others
    )
    return IndexReport(
        *store.status(),
        read_other_file_count(store.db),
        round(read_coverage(store.db).share, 4),
        is_filler_running(store.lock),
        read_pause_reason(store.path),
        refreshed,
    )


def _list_absolute_folders(config: Config) -> list[Path]:
    return [folder.absolute() for folder in list_config_folders(config)]


def _empty_index(store: Store, folders: list[Path]) -> None:
    from turnlog.store.index.upkeep import empty_index

    try:
        _run_locked(store, lambda: empty_index(store.db, folders))
    except (apsw.Error, UnicodeDecodeError) as error:
        if not store.shows_damage(error):
            store.check_permissions(error)
            raise
        store.discard_damage(error)


def _run_locked(store: Store, work: Callable[[], object]) -> None:
    with hold_index_lock(store.lock) as is_ours:
        if not is_ours:
            raise TurnlogError(f"{store.path}: another turnlog process is updating the index; try again later")
        work()
