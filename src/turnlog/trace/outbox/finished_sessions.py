"""Records sessions that were sent completely, so that they aren't searched again until they are written to.

The progress of a session doesn't show this: an unanswered prompt or a truncated line may follow it, and what is sent
only when a session is over (the client's own side work) is in other files.
"""

from __future__ import annotations

from pathlib import Path

from turnlog.entries.agents import read_last_write_ns
from turnlog.trace.outbox.outbox import Outbox


def read_session_state(path: Path) -> str:
    """Return the size and time of a session's file; empty if there is neither the file nor a sub-agent."""
    try:
        status = path.stat()
    except OSError:
        written = read_last_write_ns(path)
        return "" if written is None else f"agents {written}"
    return f"{status.st_size} {status.st_mtime_ns}"


def remember_finished(outbox: Outbox, target: str, path: Path, state: str) -> None:
    """Record that a session is over and was read completely; `state` is its state before it was read."""
    if state:
        outbox.put(target, [], _build_progress_key(path), state)


def is_session_finished(outbox: Outbox, target: str, path: Path) -> bool:
    """Return whether a session was sent completely and has not been written to since."""
    return outbox.read_progress(target, _build_progress_key(path)) == read_session_state(path)


def _build_progress_key(path: Path) -> str:
    # Stored next to the progress of the file itself, under a name that no file has.
    return f"over\n{path}"
