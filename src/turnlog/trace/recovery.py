"""Finds sessions that were never sent completely because Claude Code crashed, was killed, or gave no signal.

Plan mode and `/clear` start a new file, whose first lines may still name the previous session; other sessions are found
because their file is longer than the part that was sent. A session that may still be in use is not treated as over.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.agents import StraySession, list_stray_sessions, read_last_write_ns
from turnlog.entries.clients import list_clients
from turnlog.entries.layout import SessionFile, is_session_id, list_project_sessions
from turnlog.entries.peek import peek_safely
from turnlog.session.usage.message_counts import parse_version
from turnlog.trace.outbox.finished_sessions import is_session_finished
from turnlog.trace.outbox.outbox import Outbox
from turnlog.trace.session_tail import TraceProgress
from turnlog.trace.targets.target import TraceTarget

OVER_AFTER_SECONDS = 3600.0
"""Old clients don't register themselves: a session without writes for this long counts as over."""
_LEFT_AFTER_SECONDS = 10.0
"""The previous session is over after this time without writes; it may still be in use if this session is a copy."""
_FIRST_REGISTERING_VERSION = (2, 1, 325)
"""From this version on, clients register the sessions that they have open; for older clients, this is unknown."""


class UnsentSession(NamedTuple):
    """A session with spans to send."""

    path: Path
    targets: tuple[TraceTarget, ...]
    """The targets that have not received the spans."""
    over: bool
    """Whether the session is no longer being written, so that all of it can be sent."""


def find_unsent_sessions(
    path: Path, outbox: Outbox, targets: Sequence[TraceTarget], config_dir: Path, since: float | None = None
) -> list[UnsentSession]:
    """Find other sessions in the same folder that were not sent completely, starting with the previous one.

    `since` is the time when the hook was installed; older sessions were never meant to be sent.
    """
    before = _read_named_session(path)
    open_ids = {client.session_id for client in list_clients(config_dir)}
    unsent = []
    for file in _iter_other_sessions(path, before):
        if file.session_id in open_ids:
            continue
        over = is_session_over(file.path) or (file.session_id == before and _is_quiet(file.path, _LEFT_AFTER_SECONDS))
        if lacking := [target for target in targets if _is_lacking(outbox, target, file, since, over)]:
            unsent.append(UnsentSession(file.path, tuple(lacking), over))
    return unsent


def _iter_other_sessions(path: Path, before: str | None) -> Iterator[SessionFile]:
    files = [file for file in list_project_sessions(path.parent) if file.session_id != path.stem]
    files += [
        _to_session_file(stray, path.parent)
        for stray in list_stray_sessions(path.parent)
        if stray.path.stem != path.stem
    ]
    yield from sorted(files, key=lambda file: (file.session_id != before, file.mtime_ns))


def _to_session_file(stray: StraySession, project: Path) -> SessionFile:
    """Return a session that consists only of sub-agents as if its file existed and were empty."""
    written = max((read_last_write_ns(agent.path) or 0 for agent in stray.agents), default=0)
    return SessionFile(str(stray.path), stray.path.stem, project, project.parent.parent, 0, written, False)


def _read_named_session(path: Path) -> str | None:
    """Return the other session that is named in the first lines of a file, if any."""
    named = peek_safely(str(path)).session_id
    return named if named and named != path.stem and is_session_id(named) else None


def _is_lacking(outbox: Outbox, target: TraceTarget, file: SessionFile, since: float | None, over: bool) -> bool:
    text = outbox.read_progress(target.key, file.file)
    if text is None and (since is None or file.mtime_ns < since * 1e9):
        return False
    progress = TraceProgress.from_text(text)
    if not over and progress is not None and progress.checkpoint.offset == file.size:
        return False
    return not is_session_finished(outbox, target.key, file.path)


def is_session_over(path: Path) -> bool:
    """Return whether an unregistered session is over, that is, not in use by a client that doesn't register."""
    if _is_quiet(path, OVER_AFTER_SECONDS):
        return True
    return _FIRST_REGISTERING_VERSION <= parse_version(peek_safely(str(path)).last_version) < (999,)


def _is_quiet(path: Path, seconds: float) -> bool:
    written = read_last_write_ns(path)
    return written is None or abs(time.time() - written / 1e9) >= seconds  # None: deleted in the meantime
