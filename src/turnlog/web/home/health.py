"""The health of a session: its turns, branches and symptoms. Reading the session once yields all three; they are
remembered until the file changes.

The list of sessions never waits for health data. Its page requests the health of the visible rows, one at a time.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from errno import EINVAL
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple

from turnlog.entries.file_stamp import to_file_stamp
from turnlog.errors import Unreadable
from turnlog.session.session import Session

MAX_AUTO_READ_BYTES = 32 << 20
"""Larger sessions are read only on request."""
_MAX_REMEMBERED = 10_000
_read_lock = threading.Lock()


class SessionHealth(NamedTuple):
    turns: int
    branches: int
    """Places where the conversation forks."""
    errors: int
    """Kinds of symptoms, by severity."""
    warnings: int
    notes: int
    words: tuple[str, ...]
    """Descriptions of the symptoms, most severe first; without notes."""

    @property
    def verdict(self) -> str:
        """The worst severity: error, warning or healthy."""
        return "error" if self.errors else "warning" if self.warnings else "healthy"


class HealthCache:
    def __init__(self) -> None:
        self._known: OrderedDict[tuple[Any, ...], SessionHealth] = OrderedDict()

    def get_known(self, path: Path) -> SessionHealth | None:
        """Return what is known about the current state of a session's file."""
        try:
            return self._known.get(_read_file_state(path))
        except OSError:
            return None

    def load_health(self, path: Path) -> SessionHealth:
        """Read a session unless its health is known; raise `Unreadable` if that fails."""
        try:
            key = _read_file_state(path)
        except OSError as error:
            raise Unreadable(f"{path}: {error.strerror}") from None
        if key not in self._known:
            # One reader at a time: reading holds the interpreter, and pages must get their turn.
            with _read_lock:
                self._known[key] = self._known.get(key) or read_session_health(path)
            while len(self._known) > _MAX_REMEMBERED:
                self._known.popitem(last=False)
        return self._known[key]


def _read_file_state(path: Path) -> tuple[Any, ...]:
    status = path.stat()
    if not S_ISREG(status.st_mode):  # reading a pipe would never end
        raise OSError(EINVAL, "not a regular file")
    return str(path), *to_file_stamp(status)


def read_session_health(path: Path) -> SessionHealth:
    from turnlog.edit.illnesses.catalogue import diagnose_session  # the server starts without it

    with Session.open(path) as session:
        symptoms = diagnose_session(session)
        by = {name: [item for item in symptoms if item.severity == name] for name in ("error", "warning", "info")}
        texts = tuple(item.text for item in (*by["error"], *by["warning"]))
        branches = len(session.graph.branches)
        return SessionHealth(len(session.turns), branches, len(by["error"]), len(by["warning"]), len(by["info"]), texts)
