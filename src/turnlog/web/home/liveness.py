"""Which sessions are open now: those that clients have registered, and those that processes of this machine show."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from turnlog.edit.busy import signs, suspects
from turnlog.edit.target import Target
from turnlog.entries.clients import clients
from turnlog.store.insight.catalog import Listed

_HOLDS = 4.0
"""So many seconds an answer is good for."""
_RECENT = 3 * 86400
_MOST = 400
"""Clients that register nothing are looked for among so many sessions, written within so many seconds."""


class Liveness:
    """Remembers for a few seconds which sessions are open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: frozenset[int] = frozenset()
        self._time = float("-inf")

    def known(self) -> frozenset[int]:
        """The numbers of the sessions that were open a moment ago; empty if nobody has looked."""
        return self._found if time.monotonic() - self._time < 60 else frozenset()

    def now(self, rows: Sequence[Listed], config_dirs: Sequence[Path]) -> frozenset[int]:
        """The numbers of the sessions that are open."""
        with self._lock:
            if time.monotonic() - self._time > _HOLDS:
                there = [row for row in rows if not row.is_gone]
                self._found = frozenset({*_registered(there, config_dirs), *_shown(there)})
                self._time = time.monotonic()
            return self._found


def _registered(rows: Sequence[Listed], config_dirs: Sequence[Path]) -> Iterator[int]:
    ids = {client.session_id for folder in config_dirs for client in clients(folder) if client.is_here}
    yield from (row.number for row in rows if row.uuid in ids)


def _shown(rows: Sequence[Listed]) -> Iterator[int]:
    """Those of the newest sessions that a process has open, or was started with."""
    since = (time.time() - _RECENT) * 1e9
    recent = sorted((row for row in rows if row.mtime_ns > since), key=lambda row: -row.mtime_ns)[:_MOST]
    targets = {row.number: _target(row) for row in recent}
    certain = {found.path for found in suspects(targets.values())}
    for number, target in targets.items():
        if target.path in certain and any(sign.is_certain for sign in signs(target)):
            yield number


def _target(row: Listed) -> Target:
    path = Path(row.path)
    projects = path.parent.parent
    return Target(path, row.uuid, projects.parent if projects.name == "projects" else None)
