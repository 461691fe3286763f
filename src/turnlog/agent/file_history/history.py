"""Copies the files that a session changes, where and as Claude Code does, so that both clients can rewind either's
sessions.

    <config>/file-history/<session id>/<hash of the path>@v<n>

A file is copied just before its first change, and again at the start of every later turn in which it differs from its
latest copy. Each copy is named in a line of the session before the change is made. If copying fails, for example
because the disk is full, the person is warned once, and the work continues.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from turnlog.agent.file_history.snapshots import FileCopy, Snapshots, find_next_versions
from turnlog.entries.atomic_file import replace_file
from turnlog.errors import TurnlogError

MAX_COPIED_FILE_BYTES = 64 << 20
"""Larger files are not copied, and can't be changed by the tools either."""
Object = Mapping[str, Any]


class FileHistory:
    """The copies of one session; safe to use from several threads."""

    def __init__(
        self,
        folder: Path,
        root: Path,
        write: Callable[[Object], None],
        warn: Callable[[str], None],
        snapshots: Snapshots | None = None,
    ) -> None:
        self.folder = folder
        """The folder with the session's copies, whether or not it exists."""
        self.root = root
        """The working folder; paths inside it are recorded relative to it."""
        self._write = write
        self._warn = warn
        self._is_warned = False
        self._lock = threading.RLock()
        self._tracked = dict(next(reversed((snapshots or {}).values()), {}))
        self._versions = find_next_versions(snapshots or {})
        self._prompt: str | None = None
        self._prompt_time = ""

    def begin_turn(self, prompt: str) -> None:
        """Copy the tracked files that have changed since their latest copy, and record the state before a prompt."""
        with self._lock:
            self._prompt, self._prompt_time = prompt, _format_now()
            for tracked in list(self._tracked):
                self._copy_safely(tracked)
            self._write_snapshot(prompt, is_update=False)

    def keep_before_change(self, path: Path, entry: str | None) -> None:
        """Copy a file before its first change; `entry` is the entry of the call that changes it."""
        with self._lock:
            tracked = self._name_tracked(path)
            if self._prompt is None or tracked in self._tracked:
                return
            if self._copy_safely(tracked):
                self._write_snapshot(entry or self._prompt, is_update=True)

    def keep_current(self, path: Path) -> Path | None:
        """Copy a file as it is now, before it is restored; return the copy, or None if there is no file."""
        with self._lock:
            copy = self._copy(self._name_tracked(path))
            return None if copy.name is None else self.folder / copy.name

    def adopt_snapshots(self, snapshots: Snapshots) -> None:
        """Continue after copies that are named in the session but were not made here."""
        with self._lock:
            for path, version in find_next_versions(snapshots).items():
                self._versions[path] = max(version, self._versions.get(path, 0))

    def _copy_safely(self, tracked: str) -> bool:
        """Copy a file if it has changed; return False, after a warning, if that failed."""
        try:
            self._copy(tracked)
        except (OSError, TurnlogError, ValueError) as error:
            if not self._is_warned:
                self._is_warned = True
                self._warn(f"{tracked}: no copy for /rewind could be made ({error})")
            return False
        return True

    def _copy(self, tracked: str) -> FileCopy:
        """Return the latest copy of a file, after making a new one if the file has changed."""
        latest, path = self._tracked.get(tracked), self.root / tracked
        data = read_copied_file(path)
        if latest is not None and data == self._read_copy(latest):
            return latest
        version = max(self._versions.get(tracked, 1), 1)
        name = None if data is None else f"{_hash_path(path)}@v{version}"
        if data is not None and name is not None:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self.folder / name, data, root=self.folder.parent)
        copy = FileCopy(name, version, _format_now())
        self._tracked[tracked], self._versions[tracked] = copy, version + 1
        return copy

    def _read_copy(self, copy: FileCopy) -> bytes | None:
        return None if copy.name is None else read_copied_file(self.folder / copy.name)

    def _write_snapshot(self, entry: str, *, is_update: bool) -> None:
        tracked = {
            path: copy.to_line(os.path.realpath((self.root / path).parent)) for path, copy in self._tracked.items()
        }
        snapshot = {"messageId": self._prompt, "trackedFileBackups": tracked, "timestamp": self._prompt_time}
        line = {"type": "file-history-snapshot", "messageId": entry, "snapshot": snapshot}
        self._write({**line, "isSnapshotUpdate": is_update})

    def _name_tracked(self, path: Path) -> str:
        """Return the name under which clients record a path: relative to the working folder if it is inside."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)


def read_copied_file(path: Path) -> bytes | None:
    """Read a regular file; return None if it does not exist. Raises OSError or TurnlogError if it can't be copied."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    if not path.is_file():
        raise TurnlogError("not a regular file")
    if status.st_size > MAX_COPIED_FILE_BYTES:
        raise TurnlogError(f"larger than {MAX_COPIED_FILE_BYTES >> 20} MB")
    return path.read_bytes()


def _hash_path(path: Path) -> str:
    return sha256(os.fsencode(path)).hexdigest()[:16]


def _format_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
