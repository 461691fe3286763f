"""The background process that brings an index up to date: `python -m turnlog.store.fill_process INDEX CONFIG_DIR...`.

It has a low priority, gives way to any command that wants to write (`store.index.fill_lock`), and ends when everything
is read, when it is paused (`store.filler`), or when the index is gone. Killing it loses only what it has read since its
last commit, a few seconds of work.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import apsw

from turnlog.errors import Busy, TurnlogError
from turnlog.store.file_lock import try_lock_file
from turnlog.store.filler import FULL_DISK_REASON, pause_filler, read_pause_reason
from turnlog.store.index.coverage import needs_filling, needs_identifiers
from turnlog.store.index.fill_lock import get_filler_place, is_index_wanted
from turnlog.store.index.refresh import fill_index, find_left_identifiers, ignore_progress
from turnlog.store.store import Store

_NICENESS = 19
_RETRY_SECONDS = 0.05
_START_ATTEMPTS = 40
"""How often to try to become the filler: other processes look at its lock for a moment."""


def run_filler(index: Path, config_dirs: Sequence[Path]) -> None:
    """Bring an index up to date and read the rest, unless another process does so already."""
    for _ in range(_START_ATTEMPTS):
        with try_lock_file(get_filler_place(index.with_suffix(".lock"))) as is_ours:
            if is_ours:
                _fill_until_done(index, config_dirs)
                return
        time.sleep(_RETRY_SECONDS)


def _fill_until_done(index: Path, config_dirs: Sequence[Path]) -> None:
    inode = index.stat().st_ino if index.exists() else None
    try:
        with Store.open(index.parent, name=index.name) as store:
            if store.path != index:  # the folder is read-only
                return
            inode = inode or index.stat().st_ino
            while not _is_over(index, inode) and _work_until_wanted(store, config_dirs):
                _give_way(store.lock, index)
    except (Busy, apsw.BusyError):
        return  # the next command starts another one
    except apsw.FullError:
        pause_filler(index, FULL_DISK_REASON)
    except (TurnlogError, apsw.Error) as error:
        pause_filler(index, str(error))


def _work_until_wanted(store: Store, config_dirs: Sequence[Path]) -> bool:
    """Index until another process wants to write or fillers are paused; return whether there is more to do."""

    def is_stopped() -> bool:
        return is_index_wanted(store.lock) or read_pause_reason(store.path) is not None

    done = store.refresh(config_dirs, is_whole=False, is_stopped=is_stopped)
    if done.left or done.is_busy:
        return True
    with try_lock_file(store.lock) as is_ours:
        if is_ours:
            fill_index(store.db, ignore_progress, is_stopped, leaves_identifiers=True)
            if not needs_filling(store.db) and not is_stopped():
                find_left_identifiers(store.db, is_stopped)
    return needs_filling(store.db) or needs_identifiers(store.db)


def _give_way(lock: Path, index: Path) -> None:
    """Wait until nobody wants or holds the lock."""
    while read_pause_reason(index) is None:
        if not is_index_wanted(lock):
            with try_lock_file(lock) as is_ours:
                if is_ours:
                    return
        time.sleep(_RETRY_SECONDS)


def _is_over(index: Path, inode: int) -> bool:
    """Return whether fillers are paused, or the index was deleted or replaced."""
    try:
        return read_pause_reason(index) is not None or index.stat().st_ino != inode
    except OSError:
        return True


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    run_filler(Path(sys.argv[1]), [Path(folder) for folder in sys.argv[2:]])
