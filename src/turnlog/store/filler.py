"""Starts and stops the background process that reads the rest of an index (`store.fill_process`).

A file beside the index, `*.paused`, keeps it from starting: `turnlog index stop` creates it with the reason as its
content, and so does a filler that can't go on, for example because the disk is full.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from turnlog.store.index.fill_lock import is_filler_running

STOPPED_BY_USER = "stopped by `turnlog index stop`"
FULL_DISK_REASON = "the disk is full"
MAX_STOP_SECONDS = 60.0
_RETRY_SECONDS = 0.02


def start_filler(index: Path, config_dirs: Sequence[Path]) -> bool:
    """Start a process that reads the rest of an index, unless one is running or was stopped; return whether it did."""
    lock = index.with_suffix(".lock")
    if read_pause_reason(index) is not None or is_filler_running(lock):
        return False
    import subprocess  # late, because most commands find nothing to start

    command = [sys.executable, "-P", "-m", "turnlog.store.fill_process", str(index), *map(str, config_dirs)]
    flags = getattr(subprocess, "DETACHED_PROCESS", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    try:
        process = subprocess.Popen(
            command,
            cwd=index.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=os.name == "posix",
            creationflags=flags,
        )
    except OSError:
        return False  # the next command tries again
    process.returncode = 0  # it outlives this process, which must not warn about that
    return True


def stop_filler(index: Path, reason: str = STOPPED_BY_USER) -> bool:
    """Keep fillers from running and wait until the running one has ended; return whether it has."""
    _write_pause_reason(index, reason)
    until = time.monotonic() + MAX_STOP_SECONDS
    while is_filler_running(index.with_suffix(".lock")):
        if time.monotonic() > until:
            return False
        time.sleep(_RETRY_SECONDS)
    return True


def pause_filler(index: Path, reason: str) -> None:
    """Keep fillers from running until a user asks for the whole index."""
    with suppress(OSError):  # the disk may be full
        _write_pause_reason(index, reason)


def _write_pause_reason(index: Path, reason: str) -> None:
    _get_pause_place(index).write_text(reason, "utf-8")


def resume_filler(index: Path) -> None:
    """Let fillers run again."""
    _get_pause_place(index).unlink(missing_ok=True)


def forget_failure(index: Path) -> None:
    """Let fillers run again on a new index if the last one failed; what a user stopped stays stopped."""
    if read_pause_reason(index) != STOPPED_BY_USER:
        resume_filler(index)


def read_pause_reason(index: Path) -> str | None:
    """Return why no filler may run; None if it may."""
    try:
        return _get_pause_place(index).read_text("utf-8") or FULL_DISK_REASON  # no room even for the reason
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        return str(error)


def _get_pause_place(index: Path) -> Path:
    return index.with_suffix(".paused")
