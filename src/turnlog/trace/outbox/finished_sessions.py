"""Sessions that were sent to their end, so that nobody looks through them again until they are written to.

How far a session is settled does not tell: behind that may stand a prompt that nobody answered or a line that is cut
off, and what is sent only when a session is over (the client's own side work) stands in other files.
"""

from __future__ import annotations

from pathlib import Path

from turnlog.entries.agents import read_last_write_ns
from turnlog.trace.outbox.outbox import Outbox


def read_session_state(path: Path) -> str:
    """How large a session is and when it was written; empty if it is not there, nor any of its sub-agents."""
    try:
        status = path.stat()
    except OSError:
        written = read_last_write_ns(path)
        return "" if written is None else f"agents {written}"
    return f"{status.st_size} {status.st_mtime_ns}"


def remember_finished(outbox: Outbox, target: str, path: Path, seen: str) -> None:
    """Remember that a session, in the state that it was in before it was read, is over and was read to its end."""
    if seen:
        outbox.put(target, [], _build_progress_key(path), seen)


def is_session_finished(outbox: Outbox, target: str, path: Path) -> bool:
    """Whether a session was sent to its end, and not written to since."""
    return outbox.read_progress(target, _build_progress_key(path)) == read_session_state(path)


def _build_progress_key(path: Path) -> str:
    # Beside the progress of the file itself, under a name that no file has.
    return f"over\n{path}"
