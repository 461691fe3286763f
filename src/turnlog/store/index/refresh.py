"""Brings the index up to date: reads what changed, newest files first, and commits it in complete steps.

A refresh that is killed loses only its current step. Two refreshes at the same time are harmless: one does the work,
and the other uses the index as it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import apsw

from turnlog.store.index.coverage import list_unfilled_files
from turnlog.store.index.file_changes import (
    IndexChanges,
    TranscriptLister,
    find_index_changes,
    is_index_current,
    read_other_file_count,
)
from turnlog.store.index.fill_lock import hold_index_lock, is_filler_running
from turnlog.store.index.shards import attach_shards, list_attached_shards

if TYPE_CHECKING:
    from turnlog.store.index.batch_reader import TextPart
    from turnlog.store.index.refresh_work import RefreshProgress


MAX_WHOLE_BYTES = 32 << 20
"""A refresh that may leave work for later reads up to this many new bytes completely; this takes about a second."""


def ignore_progress(done: int, total: int) -> None:
    """Discard progress reports."""


class RefreshResult(NamedTuple):
    files: int = 0
    """How many files were read."""
    bytes: int = 0
    seconds: float = 0.0
    known: int = 0
    """How many files exist."""
    left: int = 0
    """How many files still have to be read, because the refresh was interrupted."""
    is_busy: bool = False
    """Whether another process is refreshing the index, so that the index is used as it is."""
    unread: tuple[str, ...] = ()
    """Files that can't be read, with the reason."""
    unlisted: tuple[str, ...] = ()
    """Folders and files that can't be listed or read, with the reason; the index keeps their rows."""
    others: int = 0
    """How many `.jsonl` files are not named like a session; the index ignores them."""


def refresh_index(
    db: apsw.Connection,
    lock: Path,
    config_dirs: Sequence[Path],
    progress: RefreshProgress,
    lister: TranscriptLister | None = None,
    *,
    is_whole: bool = True,
    is_stopped: Callable[[], bool] = lambda: False,
    leaves_identifiers: bool = False,
) -> RefreshResult:
    """Bring an index up to date with the files in the given config folders, or until `is_stopped` returns True.

    Unless `is_whole` is set, only the conversation of large changes is read (`fill_index` reads the rest). With
    `leaves_identifiers`, `find_left_identifiers` has to find those of large changes.
    """
    start = time.perf_counter()
    if not is_whole and is_filler_running(lock) and is_index_current(db, config_dirs):
        known = db.execute("SELECT count(*) FROM file WHERE gone IS NULL").get
        return RefreshResult(known=known, others=read_other_file_count(db), seconds=time.perf_counter() - start)
    with hold_index_lock(lock) as is_ours:
        if not is_ours:
            return RefreshResult(is_busy=True)
        if unusable := attach_shards(db):
            from turnlog.store.index.shard_repair import drop_shards

            drop_shards(db, unusable)
        changes = find_index_changes(db, config_dirs, lister)
        result = RefreshResult(
            known=changes.known, unread=_describe_unnamed(changes), unlisted=changes.unlisted, others=changes.others
        )
        if changes.files:
            from turnlog.store.index.refresh_work import RefreshWork

            _settle_shard_conflicts(db)
            total = sum(item.more for item in changes.files)
            part: TextPart = "all" if total <= MAX_WHOLE_BYTES else "conversation"
            if is_whole and part == "conversation":  # the rest follows
                progress = _share_progress(progress, total)
            work = RefreshWork(db, progress, total, part=part, is_stopped=is_stopped)
            read = work.run(changes.files)
            result = result._replace(
                files=read,
                bytes=work.done,
                left=len(changes.files) - read - len(work.unread),
                unread=(*work.unread, *result.unread),
            )
        if is_whole and not result.left:
            result = result._replace(
                left=fill_index(db, progress, is_stopped, includes_failed=True, leaves_identifiers=leaves_identifiers)
            )
    return result._replace(seconds=time.perf_counter() - start)


def _settle_shard_conflicts(db: apsw.Connection) -> None:
    """Make an index and its shards agree, if a power cut or a copied file has separated them."""
    if not list_attached_shards(db):
        return
    from turnlog.store.index.shard_repair import find_shard_conflicts, reconcile_shards

    if find_shard_conflicts(db):
        reconcile_shards(db)


def fill_index(
    db: apsw.Connection,
    progress: RefreshProgress,
    is_stopped: Callable[[], bool] = lambda: False,
    *,
    includes_failed: bool = False,
    leaves_identifiers: bool = False,
) -> int:
    """Read the rest of files of which only the conversation is indexed, newest first; the caller must hold the lock.

    Much text goes to shards. Return the number of files that are left because `is_stopped` returned True or after an
    interrupt.
    """
    if not list_unfilled_files(db, includes_failed=includes_failed) and not list_attached_shards(db):
        return 0
    from turnlog.store.index.refresh_work import RefreshWork, catch_interrupts, reserve_rooms
    from turnlog.store.index.shard_workers import fill_shards, prepare_shares

    shares, files = prepare_shares(db, lambda size: reserve_rooms(db, size), includes_failed=includes_failed)
    with catch_interrupts() as is_signalled:

        def is_over() -> bool:
            return is_signalled() or is_stopped()

        if shares:
            fill_shards(db, shares, progress, is_over, "texts" if leaves_identifiers else "all")
        if files and not (shares and is_over()):
            work = RefreshWork(db, progress, sum(item.more for item in files), part="rest", is_stopped=is_over)
            work.run(files)
    return len(list_unfilled_files(db))


def find_left_identifiers(db: apsw.Connection, is_stopped: Callable[[], bool] = lambda: False) -> None:
    """Find the identifiers in texts that were indexed without them; the caller must hold the lock."""
    from turnlog.store.index.shard_workers import fill_shards, measure_unnamed_bytes

    if shares := measure_unnamed_bytes(db):
        fill_shards(db, shares, ignore_progress, is_stopped, "identifiers")


def _share_progress(progress: RefreshProgress, total: int) -> RefreshProgress:
    """Combine the progress of two runs through the same bytes."""
    last = 0
    before = 0

    def note_progress(done: int, _: int) -> None:
        nonlocal last, before
        if done < last:
            before = total
        last = done
        progress(min(before + done, 2 * total), 2 * total)

    return note_progress


def _describe_unnamed(changes: IndexChanges) -> tuple[str, ...]:
    return tuple(f"{name}: the file name is not valid UTF-8; rename the file to index it" for name in changes.unnamed)
