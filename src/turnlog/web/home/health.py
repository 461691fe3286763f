"""How a session is: its turns, branches and symptoms, from reading it once; kept until its file changes.

A list of sessions never waits for this: pages ask for the rows that somebody looks at, one after the other.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from errno import EINVAL
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple

from turnlog.errors import Unreadable
from turnlog.session.session import Session

MAX_AUTO_READ_BYTES = 32 << 20
"""What is larger is read only when somebody asks for it."""
_MAX_REMEMBERED = 10_000
_read_lock = threading.Lock()


class SessionHealth(NamedTuple):
    """What reading a session tells of it."""

    turns: int
    branches: int
    """Places where the conversation forks."""
    errors: int
    """Kinds of symptoms, by severity."""
    warnings: int
    notes: int
    words: tuple[str, ...]
    """The symptoms in words, the gravest first; without the notes."""

    @property
    def verdict(self) -> str:
        """The gravest there is: error, warning or healthy."""
        return "error" if self.errors else "warning" if self.warnings else "healthy"


class HealthCache:
    """What is known of how sessions are."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[Any, ...], SessionHealth] = OrderedDict()

    def get_known(self, path: Path) -> SessionHealth | None:
        """What is known of a session in its present state."""
        try:
            return self._known.get(_read_file_state(path))
        except OSError:
            return None

    def load_health(self, path: Path) -> SessionHealth:
        """Look at a session; raises Unreadable."""
        try:
            key = _read_file_state(path)
        except OSError as error:
            raise Unreadable(f"{path}: {error.strerror}") from None
        if key not in self._known:
            # One reader at a time: whoever reads holds the interpreter, and pages must get their turn.
            with _read_lock:
                self._known[key] = self._known.get(key) or read_session_health(path)
            while len(self._known) > _MAX_REMEMBERED:
                self._known.popitem(last=False)
        return self._known[key]


def _read_file_state(path: Path) -> tuple[Any, ...]:
    found = path.stat()
    if not S_ISREG(found.st_mode):  # reading a pipe would never end
        raise OSError(EINVAL, "is no file")
    return str(path), found.st_size, found.st_mtime_ns, found.st_ino


def read_session_health(path: Path) -> SessionHealth:
    """Read a session and look at it."""
    from turnlog.edit.illnesses.catalogue import diagnose_session  # the server starts without it

    with Session.open(path) as session:
        found = diagnose_session(session)
        by = {name: [item for item in found if item.severity == name] for name in ("error", "warning", "info")}
        words = tuple(item.text for item in (*by["error"], *by["warning"]))
        branches = len(session.graph.branches)
        return SessionHealth(len(session.turns), branches, len(by["error"]), len(by["warning"]), len(by["info"]), words)
