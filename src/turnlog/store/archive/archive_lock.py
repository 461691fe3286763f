"""One writer at a time: a lock that is released when the process that holds it ends."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from turnlog.errors import Busy
from turnlog.store.file_lock import take_lock

LOCK_TIMEOUT_SECONDS = 600.0
"""Writers hold the lock for one session at a time, so a longer wait means that the holder hangs."""


@contextlib.contextmanager
def lock_archive(folder: Path, patience: float = LOCK_TIMEOUT_SECONDS) -> Iterator[None]:
    """Hold the lock that writing to the archive requires."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _wait_for_lock(fd, folder, time.monotonic() + patience)
        yield
    finally:
        os.close(fd)


def _wait_for_lock(fd: int, folder: Path, until: float) -> None:
    while not take_lock(fd):
        if time.monotonic() >= until:
            raise Busy(f"{folder}: another turnlog process is writing to the archive; try again when it is done")
        time.sleep(0.05)
