"""Sessions of which something was never sent: their client crashed, was killed, or left them without a word.

Plan mode and `/clear` begin a new file, whose first lines may still name the session before it; any other session is
found by its size, which is more than what is settled of it. A session that somebody may still be writing is not
taken for one that is over.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.agents import StraySession, last_written_ns, stray_sessions
from turnlog.entries.clients import clients
from turnlog.entries.layout import SessionFile, is_session_id, project_sessions
from turnlog.entries.peeks import look
from turnlog.session.messages import version_key
from turnlog.trace.outbox.finished import is_finished
from turnlog.trace.outbox.outbox import Outbox
from turnlog.trace.reading import Progress
from turnlog.trace.targets.target import Target

QUIET = 3600.0
"""Old clients do not say that they run: a session that nobody wrote for so many seconds is taken to be over."""
_LEFT = 10.0
"""The session that another one came from is left behind; but it may be a copy of one that somebody is still at."""
_REGISTERING = (2, 1, 325)
"""Clients from this version on say which sessions they have open. Older ones may; it was not seen."""


class Unsent(NamedTuple):
    """A session with something to send."""

    path: Path
    targets: tuple[Target, ...]
    """Those that lack it."""
    over: bool
    """Nobody writes it any more: all of it can be sent."""


def unsent(
    path: Path, outbox: Outbox, targets: Sequence[Target], config_dir: Path, since: float | None = None
) -> list[Unsent]:
    """The sessions beside this one that were not sent to the end, the one before it first.

    `since` is when the hook was installed: what is older was never meant to be sent.
    """
    before = _named_first(path)
    open_ones = {client.session_id for client in clients(config_dir)}
    found = []
    for file in _others(path, before):
        if file.session_id in open_ones:
            continue
        over = is_over(file.path) or (file.session_id == before and _is_quiet(file.path, _LEFT))
        if lacking := [target for target in targets if _lacks(outbox, target, file, since, over)]:
            found.append(Unsent(file.path, tuple(lacking), over))
    return found


def _others(path: Path, before: str | None) -> Iterator[SessionFile]:
    files = [file for file in project_sessions(path.parent) if file.session_id != path.stem]
    files += [_as_file(stray, path.parent) for stray in stray_sessions(path.parent) if stray.path.stem != path.stem]
    yield from sorted(files, key=lambda file: (file.session_id != before, file.mtime_ns))


def _as_file(stray: StraySession, project: Path) -> SessionFile:
    """A session of which only sub-agents are left, as if its file were there and empty."""
    written = max((last_written_ns(agent.path) or 0 for agent in stray.agents), default=0)
    return SessionFile(str(stray.path), stray.path.stem, project, project.parent.parent, 0, written, False)


def _named_first(path: Path) -> str | None:
    """The other session that the first lines of a file name, if any."""
    found = look(str(path)).session_id
    return found if found and found != path.stem and is_session_id(found) else None


def _lacks(outbox: Outbox, target: Target, file: SessionFile, since: float | None, over: bool) -> bool:
    text = outbox.progress(target.key, file.file)
    if text is None and (since is None or file.mtime_ns < since * 1e9):
        return False
    progress = Progress.from_text(text)
    if not over and progress is not None and progress.checkpoint.offset == file.size:
        return False
    return not is_finished(outbox, target.key, file.path)


def is_over(path: Path) -> bool:
    """Whether a session that no client has registered is not being written by one that does not register."""
    if _is_quiet(path, QUIET):
        return True
    return _REGISTERING <= version_key(look(str(path)).last_version) < (999,)


def _is_quiet(path: Path, seconds: float) -> bool:
    written = last_written_ns(path)
    return written is None or abs(time.time() - written / 1e9) >= seconds  # None: deleted meanwhile
