"""Hands the index over between a process that fills it in the background and those that need it now.

The filler holds the lock of the index for minutes. A process that wants to write locks a second file, `*.wanted`; the
filler looks at it after every piece and gives way. Both locks are released when their holder dies, so nobody waits for
a process that no longer exists. A third lock, `*.filler`, shows that a filler is running.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from turnlog.store.file_lock import try_lock_file

MAX_HANDOVER_SECONDS = 20.0
"""How long to wait for a filler to commit what it has read."""
MAX_MOMENT_SECONDS = 3.0
"""How long to wait for a process that has little left to read."""
_RETRY_SECONDS = 0.005


@contextmanager
def hold_index_lock(lock: Path) -> Iterator[bool]:
    """Try to take the lock of an index; yield whether it was taken. Wait only if its holder is a filler."""
    with try_lock_file(lock) as is_ours:
        if is_ours:
            yield True
            return
    if not is_filler_running(lock):
        # It may have ended between the two looks.
        with try_lock_file(lock) as is_ours:
            yield is_ours
        return
    with _wait_for_filler(lock) as is_ours:
        yield is_ours


@contextmanager
def _wait_for_filler(lock: Path) -> Iterator[bool]:
    until = time.monotonic() + MAX_HANDOVER_SECONDS
    while time.monotonic() < until:
        with try_lock_file(_get_wanted_place(lock)) as is_waiting:
            while time.monotonic() < until:
                with try_lock_file(lock) as is_ours:
                    if is_ours:
                        yield True
                        return
                time.sleep(_RETRY_SECONDS)
                if not is_waiting:  # another process waits too, or the filler was looking
                    break
    yield False


def is_index_locked(lock: Path) -> bool:
    """Return whether a process is writing to an index."""
    with try_lock_file(lock) as is_ours:
        return not is_ours


def wait_for_index_lock(lock: Path) -> None:
    """Wait for a moment until no process is writing to an index."""
    until = time.monotonic() + MAX_MOMENT_SECONDS
    while is_index_locked(lock) and time.monotonic() < until:
        time.sleep(_RETRY_SECONDS)


def is_filler_running(lock: Path) -> bool:
    """Return whether a process is filling the index in the background."""
    with try_lock_file(get_filler_place(lock)) as is_ours:
        return not is_ours


def is_index_wanted(lock: Path) -> bool:
    """Return whether a process is waiting for the lock of an index."""
    with try_lock_file(_get_wanted_place(lock)) as is_ours:
        return not is_ours


def get_filler_place(lock: Path) -> Path:
    """Return the file that a filler keeps locked."""
    return lock.with_suffix(".filler")


def _get_wanted_place(lock: Path) -> Path:
    return lock.with_suffix(".wanted")
