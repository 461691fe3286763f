"""One writer at a time: a lock on a file that the system takes back when its holder dies, and turns at a database."""

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
    """Hold a lock for a while; gives whether it could be had, without waiting for it."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        yield take_lock(fd)
    finally:
        os.close(fd)  # which lets go of the lock


def take_lock(fd: int) -> bool:
    """Take the lock of an open file if nobody else has it; it is given back when the file is closed."""
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
    """A transaction that will write: it waits for its turn at the start, where nothing is lost by waiting."""
    db.execute("BEGIN IMMEDIATE")  # not `with db`: that one waits without letting other threads go on
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def enable_write_ahead_log(db: apsw.Connection) -> None:
    """Let readers and a writer work at the same time; a new file takes that up only while nobody else is at it."""
    for wait in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2):
        try:
            if db.pragma("journal_mode") == "wal" or db.pragma("journal_mode", "wal") == "wal":
                return
        except apsw.BusyError:
            time.sleep(wait)
    db.pragma("journal_mode", "wal")
