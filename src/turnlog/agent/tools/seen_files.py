"""Tracks which files the model has seen and in which state, so that it never overwrites an unread or changed file."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from turnlog.agent.tools.call_result import RejectedCall, ToolError, Workspace
from turnlog.entries.pinned_file import PinnedFile
from turnlog.errors import Changed

UNREAD_FILE_TEXT = "File has not been read yet. Read it first before writing to it."
CHANGED_FILE_TEXT = (
    "File has been modified since read, either by the user or by a linter. Read it again before attempting to write it."
)
CHANGED_MEANWHILE_TEXT = "File has been unexpectedly modified. Read it again before attempting to write it."

_ERROR_TEXTS_BY_ERRNO: Mapping[int, str] = {
    errno.EISDIR: "illegal operation on a directory",
    errno.ELOOP: "too many symbolic links encountered",
    errno.ENAMETOOLONG: "name too long",
}
"""Errors whose wording in Claude Code's runtime differs from the system's."""


class MissingFile(ToolError):
    """The file does not exist."""


class FileSight(NamedTuple):
    """The state of a file when the model last saw it."""

    mtime_ns: int
    size: int
    text: str | None
    """None if the model saw only part of the file."""
    is_written: bool = False
    """Whether the model wrote the file, and so is told when someone else changes it."""


class SeenFiles:
    """The files that the model has read or written in a session; safe to use from several threads."""

    def __init__(self) -> None:
        self._seen: dict[Path, FileSight] = {}
        self._lock = threading.Lock()

    def note_seen(self, path: Path, status: os.stat_result, text: str | None, *, is_written: bool = False) -> None:
        """Record a file that was read or written; without `text`, the model knows only part of it."""
        self._note_sight(path, FileSight(status.st_mtime_ns, status.st_size, text, is_written))

    def recall_seen(self, path: Path, moment: datetime, text: str | None) -> None:
        """Record a file from an earlier run; it counts as unchanged if not written since or if its text is the same."""
        try:
            status = path.stat()
        except OSError:
            return
        if is_unwritten_since(status, moment):
            self._note_sight(path, FileSight(status.st_mtime_ns, status.st_size, text))
        else:
            self._note_sight(path, FileSight(0, -1, text))

    def is_seen(self, path: Path) -> bool:
        return _resolve_real_path(path) in self._seen

    def is_seen_whole(self, path: Path) -> bool:
        sight = self._seen.get(_resolve_real_path(path))
        return sight is not None and sight.text is not None

    def is_changed(self, path: Path, status: os.stat_result, text: str) -> bool:
        """Return whether the content of a seen file has changed; a new modification time alone does not count."""
        sight = self._seen[_resolve_real_path(path)]
        if (status.st_mtime_ns, status.st_size) == (sight.mtime_ns, sight.size):
            return False
        return sight.text != text

    def list_written(self) -> list[tuple[Path, FileSight]]:
        """Return the files that the model wrote and whose whole content it knows."""
        with self._lock:
            return [(path, sight) for path, sight in self._seen.items() if sight.is_written and sight.text is not None]

    def _note_sight(self, path: Path, sight: FileSight) -> None:
        with self._lock:
            before = self._seen.pop(_resolve_real_path(path), None)
            is_written = sight.is_written or (before is not None and before.is_written)
            self._seen[_resolve_real_path(path)] = sight._replace(is_written=is_written)


def is_unwritten_since(status: os.stat_result, moment: datetime) -> bool:
    """Return whether a regular file has not been written since a time, which sessions record to the millisecond."""
    return stat.S_ISREG(status.st_mode) and status.st_mtime_ns // 1_000_000 <= round(moment.timestamp() * 1000)


def locate_file(name: str, place: Workspace) -> Path:
    """Return the path that a call names; relative paths start in the shell's folder."""
    if "\0" in name:
        raise RejectedCall("The path contains a NUL character. Give the path of a file.")
    try:
        path = Path(name).expanduser()
    except RuntimeError:  # there is no such user
        path = Path(name)
    return Path(os.path.normpath(place.cwd / path))


def hold_file(name: str, place: Workspace, action: str) -> PinnedFile:
    """Return the file that a call names, as it was when the call was permitted.

    Raises ToolError if its path leads elsewhere by now."""
    if place.pinned is None or place.pinned.name != name:
        return PinnedFile(locate_file(name, place))
    with word_system_errors(action, place.pinned.file.path):
        place.pinned.file.check()
    return place.pinned.file


def describe_missing_file(path: Path, place: Workspace) -> str:
    """Describe a missing file and suggest a file with a similar name, if there is one."""
    message = f"File does not exist. Note: your current working directory is {place.cwd}."
    try:
        near = sorted(one.name for one in path.parent.iterdir() if one.stem == path.stem and one.name != path.name)
    except OSError:
        near = []
    return f"{message} Did you mean {near[0]}?" if near else message


@contextmanager
def word_system_errors(action: str, path: Path) -> Iterator[None]:
    """Convert system errors into ToolErrors, worded like those of Claude Code's runtime."""
    try:
        yield
    except Changed:
        verb = action if action in ("write", "search") else "read"
        raise ToolError(
            f"Refusing to {verb} {path}: its symlink resolution changed after permission was checked. If a link in the"
            " working directory is being rewritten concurrently, stop that and retry."
        ) from None
    except OSError as error:
        number = error.errno or 0
        text = _ERROR_TEXTS_BY_ERRNO.get(number) or (error.strerror or "failed").lower()
        kind = MissingFile if number == errno.ENOENT else ToolError
        raise kind(f"{errno.errorcode.get(number, 'EIO')}: {text}, {action} '{path}'") from None


def _resolve_real_path(path: Path) -> Path:
    return Path(os.path.realpath(path))
