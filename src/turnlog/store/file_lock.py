"""One writer at a time: a file lock that is released when its holder dies, and write transactions that wait."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw


@contextmanager
def try_lock_file(path: Path) -> Iterator[bool]:
    """Try to take a lock without waiting; yield whether it was taken."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        yield take_lock(fd)
    finally:
        os.close(fd)  # this releases the lock


def take_lock(fd: int) -> bool:
    """Lock an open file if no other process holds the lock; closing the file releases it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def open_write_transaction(db: apsw.Connection) -> Iterator[None]:
    """Run a transaction that will write; it waits at the start, where waiting loses no work."""
    db.execute("BEGIN IMMEDIATE")  # `with db` would block the other threads while it waits
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def enable_write_ahead_log(db: apsw.Connection) -> None:
    """Let readers and a writer work at the same time; this can be enabled only while no one else uses the file."""
    for wait in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2):
        try:
            if db.pragma("journal_mode") == "wal" or db.pragma("journal_mode", "wal") == "wal":
                return
        except apsw.BusyError:
            time.sleep(wait)
    db.pragma("journal_mode", "wal")
