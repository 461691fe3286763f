"""Which of the listed sessions are open in a client right now."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from turnlog.edit.open_signs import find_open_signs, find_suspect_sessions
from turnlog.edit.session_target import SessionTarget
from turnlog.entries.clients import list_clients
from turnlog.store.insight.catalog import CatalogSession

_CACHE_SECONDS = 4.0
"""How long a result is reused."""
_RECENT_SECONDS = 3 * 86400
_MAX_SUSPECTS = 400
"""How many sessions from the last `_RECENT_SECONDS` to check, because some clients don't register theirs."""


class LiveSessions:
    """Remembers for a few seconds which sessions are open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: frozenset[int] = frozenset()
        self._time = float("-inf")

    def get_known(self) -> frozenset[int]:
        """Return the numbers of sessions that were open within the last minute, without checking again."""
        return self._found if time.monotonic() - self._time < 60 else frozenset()

    def find_live(self, rows: Sequence[CatalogSession], config_dirs: Sequence[Path]) -> frozenset[int]:
        """Return the numbers of the open sessions."""
        with self._lock:
            if time.monotonic() - self._time > _CACHE_SECONDS:
                there = [row for row in rows if not row.is_gone]
                self._found = frozenset({*_find_registered(there, config_dirs), *_find_by_process(there)})
                self._time = time.monotonic()
            return self._found


def _find_registered(rows: Sequence[CatalogSession], config_dirs: Sequence[Path]) -> Iterator[int]:
    ids = {client.session_id for folder in config_dirs for client in list_clients(folder) if client.is_here}
    yield from (row.number for row in rows if row.uuid in ids)


def _find_by_process(rows: Sequence[CatalogSession]) -> Iterator[int]:
    """Yield the recent sessions that a process has open or was started with."""
    since = (time.time() - _RECENT_SECONDS) * 1e9
    recent = sorted((row for row in rows if row.mtime_ns > since), key=lambda row: -row.mtime_ns)[:_MAX_SUSPECTS]
    targets = {row.number: _to_edit_target(row) for row in recent}
    certain = {found.path for found in find_suspect_sessions(targets.values())}
    for number, target in targets.items():
        if target.path in certain and any(sign.is_certain for sign in find_open_signs(target)):
            yield number


def _to_edit_target(row: CatalogSession) -> SessionTarget:
    path = Path(row.path)
    projects = path.parent.parent
    return SessionTarget(path, row.uuid, projects.parent if projects.name == "projects" else None)
