"""Bring the index up to date: read what changed, newest files first, and write it in steps that each are whole.

A refresh that is killed loses the step it was at. Two at the same time do no harm: one works, the other sees what is
there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import apsw

from turnlog.store.index.changes import Changes, changes
from turnlog.store.lock import locked

Progress = Callable[[int, int], None]
"""Called with how many bytes of how many are done."""


def unheard(done: int, total: int) -> None:
    """Progress that nobody wants to see."""


class Refreshed(NamedTuple):
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


def refresh(db: apsw.Connection, lock: Path, config_dirs: Sequence[Path], progress: Progress) -> Refreshed:
    """Bring an index up to date with the files of some config folders."""
    start = time.perf_counter()
    with locked(lock) as is_ours:
        if not is_ours:
            return Refreshed(is_busy=True)
        found = changes(db, config_dirs)
        if not found.files:
            return Refreshed(known=found.known, seconds=time.perf_counter() - start, unread=_unnamed(found))
        from turnlog.store.index.work import Work  # reading is much to import, and mostly there is nothing to read

        work = Work(db, progress, sum(item.more for item in found.files))
        done = work.run(found.files)
    return Refreshed(
        done,
        work.done,
        time.perf_counter() - start,
        found.known,
        len(found.files) - done - len(work.unread),
        False,
        (*work.unread, *_unnamed(found)),
    )


def _unnamed(found: Changes) -> tuple[str, ...]:
    return tuple(f"{name}: the name is not valid UTF-8" for name in found.unnamed)
