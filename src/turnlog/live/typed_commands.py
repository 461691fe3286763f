"""What people typed last in each session, according to the client's own history of prompts.

Clients append every prompt to `<config>/history.jsonl` when it is sent, often long before the transcript has it: while
a client compacts a conversation, this is the only trace of `/compact`. Only the name of a command is kept.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from turnlog.entries.file_ends import open_regular_file, read_at

_HISTORY_NAME = "history.jsonl"
_COMMAND = re.compile(r"[/!][a-z_-]*", re.ASCII)
_MAX_SESSIONS = 500
_MAX_READ_BYTES = 16 << 10
"""How much of the end of a history is read; older lines don't matter."""


class TypedCommand(NamedTuple):
    """What a person sent to a client."""

    time: float
    """In seconds since 1970."""
    command: str = ""
    """`/compact`, for example; `!` for a shell command; empty for a prompt."""


class _HistoryLine(msgspec.Struct):
    display: str
    timestamp: float
    session_id: str = msgspec.field(name="sessionId")


_DECODER = msgspec.json.Decoder(_HistoryLine)


class TypedCommands:
    """The latest lines in the histories of some config folders."""

    def __init__(self, config_dirs: Iterable[Path]) -> None:
        self._paths = [folder / _HISTORY_NAME for folder in config_dirs]
        self._read_at: dict[Path, tuple[int, int]] = {}
        """The time and size of each history when it was read."""
        self._latest: dict[str, TypedCommand] = {}

    def poll(self) -> None:
        """Read the end of every history that has changed."""
        for path in self._paths:
            with contextlib.suppress(OSError):
                status = os.stat(path)  # noqa: PTH116 - several times a second
                if self._read_at.get(path) != (status.st_mtime_ns, status.st_size):
                    self._read_at[path] = status.st_mtime_ns, status.st_size
                    self._add_lines(_read_end(path))

    def _add_lines(self, data: bytes) -> None:
        for line in data.split(b"\n"):
            with contextlib.suppress(msgspec.DecodeError, RecursionError):
                found = _DECODER.decode(line)
                command = _COMMAND.match(found.display)
                self._latest.pop(found.session_id, None)
                self._latest[found.session_id] = TypedCommand(
                    found.timestamp / 1000, command.group() if command else ""
                )
        for session_id in list(self._latest)[:-_MAX_SESSIONS]:
            del self._latest[session_id]

    def find_latest(self, session_id: str) -> TypedCommand | None:
        """Return what was typed last in a session; None if that is unknown."""
        return self._latest.get(session_id)


def _read_end(path: Path) -> bytes:
    fd, status = open_regular_file(path)
    try:
        start = max(status.st_size - _MAX_READ_BYTES, 0)
        return read_at(fd, start, status.st_size - start)
    finally:
        os.close(fd)
