"""Brings the index up to date: reads what changed, newest files first, and commits it in complete steps.

A refresh that is killed loses only its current step. Two refreshes at the same time are harmless: one does the work,
and the other uses the index as it is.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import apsw

from turnlog.store.file_lock import try_lock_file
from turnlog.store.index.file_changes import IndexChanges, TranscriptLister, find_index_changes

if TYPE_CHECKING:
    from turnlog.store.index.refresh_work import RefreshProgress


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
) -> RefreshResult:
    """Bring an index up to date with the files in the given config folders."""
    start = time.perf_counter()
    with try_lock_file(lock) as is_ours:
        if not is_ours:
            return RefreshResult(is_busy=True)
        changes = find_index_changes(db, config_dirs, lister)
        result = RefreshResult(
            known=changes.known, unread=_describe_unnamed(changes), unlisted=changes.unlisted, others=changes.others
        )
        if not changes.files:
            return result._replace(seconds=time.perf_counter() - start)
        from turnlog.store.index.refresh_work import RefreshWork

        work = RefreshWork(db, progress, sum(item.more for item in changes.files))
        read = work.run(changes.files)
    return result._replace(
        files=read,
        bytes=work.done,
        seconds=time.perf_counter() - start,
        left=len(changes.files) - read - len(work.unread),
        unread=(*work.unread, *result.unread),
    )


def _describe_unnamed(changes: IndexChanges) -> tuple[str, ...]:
    return tuple(f"{name}: the file name is not valid UTF-8; rename the file to index it" for name in changes.unnamed)
