"""One writer at a time: a lock on a file that the system takes back when its holder dies."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Hold a lock for a while; gives whether it could be had, without waiting for it."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        yield taken(fd)
    finally:
        os.close(fd)  # which lets go of the lock


def taken(fd: int) -> bool:
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
def writing(db: apsw.Connection) -> Iterator[None]:
    """A transaction that will write: it waits for its turn at the start, where nothing is lost by waiting."""
    db.execute("BEGIN IMMEDIATE")  # not `with db`: that one waits without letting other threads go on
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
