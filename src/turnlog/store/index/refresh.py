"""Bring the index up to date: read what changed, newest files first, and write it in steps that each are whole.

A refresh that is killed loses the step it was at. Two at the same time do no harm: one works, the other sees what is
there.
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
    """Progress that nobody wants to see."""


class RefreshResult(NamedTuple):
    """What a refresh did."""

    files: int = 0
    """How many files were read."""
    bytes: int = 0
    seconds: float = 0.0
    known: int = 0
    """How many files there are."""
    left: int = 0
    """How many files still have to be read: the refresh was interrupted."""
    is_busy: bool = False
    """Another process is at it; the index is as that one left it."""
    unread: tuple[str, ...] = ()
    """Files that can't be read, with the reason."""
    unlisted: tuple[str, ...] = ()
    """Folders and files that can't be looked at, with the reason; the index keeps what it knows of them."""
    others: int = 0
    """How many `.jsonl` files have a name that is no session's; they are not in the index."""


def refresh_index(
    db: apsw.Connection,
    lock: Path,
    config_dirs: Sequence[Path],
    progress: RefreshProgress,
    lister: TranscriptLister | None = None,
) -> RefreshResult:
    """Bring an index up to date with the files of some config folders."""
    start = time.perf_counter()
    with try_lock_file(lock) as is_ours:
        if not is_ours:
            return RefreshResult(is_busy=True)
        found = find_index_changes(db, config_dirs, lister)
        looked = RefreshResult(
            known=found.known, unread=_describe_unnamed(found), unlisted=found.unlisted, others=found.others
        )
        if not found.files:
            return looked._replace(seconds=time.perf_counter() - start)
        from turnlog.store.index.refresh_work import RefreshWork

        work = RefreshWork(db, progress, sum(item.more for item in found.files))
        done = work.run(found.files)
    return looked._replace(
        files=done,
        bytes=work.done,
        seconds=time.perf_counter() - start,
        left=len(found.files) - done - len(work.unread),
        unread=(*work.unread, *looked.unread),
    )


def _describe_unnamed(found: IndexChanges) -> tuple[str, ...]:
    return tuple(f"{name}: the name is not valid UTF-8" for name in found.unnamed)
