"""The copies of files that the client makes before it changes them, and when it made each one.

When a prompt starts, the client copies every file that the session has changed so far and that differs from its latest
copy; it also copies any file just before its first change. Therefore, each copy shows a file as it was before a turn
changed it.

    <config>/file-history/<session id>/<hash of the path>@v<n>

`file-history-snapshot` entries and, from 2.1.209 on, `file-history-delta` entries map each copy to its file.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from turnlog.entries.layout import is_session_id
from turnlog.session.clock import to_epoch_milliseconds
from turnlog.session.files.touches import find_turn_at, resolve_touched_path
from turnlog.session.turns import Turn

if TYPE_CHECKING:
    from turnlog.session.session import Session

_BACKUP_NAME = re.compile(r"[0-9A-Za-z_-]{1,80}@v[0-9]{1,9}")
"""Matches only names that can't lead to a different folder, because the names come from a transcript."""


class FileBackup(Struct):
    """One copy of a file."""

    path: str
    name: str | None
    """None if the file did not exist."""
    turn: Turn | None
    """The turn whose changes the copy precedes."""
    time: str | None
    place: float
    """When the copy was made, in milliseconds since 1970."""
    folders: tuple[Path, ...]
    """The folders that may contain the copy."""

    def read(self) -> bytes | None:
        """Read the copy; return None if it does not exist."""
        name = self.name or ""
        copies = (
            (_read_plain_file(folder / name) for folder in self.folders) if _BACKUP_NAME.fullmatch(name) else iter(())
        )
        return next((data for data in copies if data is not None), None)


def list_file_backups(session: Session) -> list[FileBackup]:
    """List all copies that a session mentions, each version of a file only once, in chronological order."""
    folders = tuple(_list_folders(session))
    found: dict[tuple[str, str | None, str], FileBackup] = {}
    latest, cwd = 0.0, next((entry.cwd for entry in session.entries if entry.cwd), None)
    for entry in session.entries:
        latest, cwd = max(latest, to_epoch_milliseconds(entry.timestamp) or 0), entry.cwd or cwd
        if entry.type not in ("file-history-snapshot", "file-history-delta"):
            continue
        body = session.read_body(entry)
        for path, copy in _list_named_backups(body):
            name, time = copy.get("backupFileName"), copy.get("backupTime")
            key = resolve_touched_path(path, cwd), name if isinstance(name, str) else None, str(copy.get("version"))
            if key not in found:
                taken = to_epoch_milliseconds(time) or latest
                turn = _find_turn(session, body) or find_turn_at(session, taken)
                found[key] = FileBackup(*key[:2], turn, time if isinstance(time, str) else None, taken, folders)
    return sorted(found.values(), key=lambda backup: backup.place)


def _list_named_backups(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the copies that an entry names, each with the path of its file."""
    snapshot = body.get("snapshot")
    tracked = snapshot.get("trackedFileBackups") if isinstance(snapshot, dict) else None
    pairs = list(tracked.items()) if isinstance(tracked, dict) else []
    if isinstance(path := body.get("trackingPath"), str):
        pairs.append((path, body.get("backup")))
    yield from ((path, copy) for path, copy in pairs if path and isinstance(copy, dict))


def _find_turn(session: Session, body: dict[str, Any]) -> Turn | None:
    """Return the turn whose prompt a copy belongs to."""
    snapshot = body.get("snapshot")
    uuid = body.get("snapshotMessageId") or (snapshot.get("messageId") if isinstance(snapshot, dict) else None)
    place = session.file.by_uuid.get(uuid) if isinstance(uuid, str) else None
    return None if place is None else session.find_turn(session.file.entries[place])


def _list_folders(session: Session) -> Iterator[Path]:
    """Yield the folders of a session's copies: for its own id, and for the ids in entries copied from elsewhere."""
    if session.path is None or session.path.parent.parent.name != "projects":
        return
    ids = dict.fromkeys([session.session_id, *(entry.session_id for entry in session.entries)])
    history = session.path.parent.parent.parent / "file-history"
    yield from (history / name for name in ids if name and is_session_id(name))


def _read_plain_file(path: Path) -> bytes | None:
    """Read a regular file; don't follow a symbolic link, which could lead elsewhere."""
    try:
        if path.parent.is_symlink() or not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        return path.read_bytes()
    except OSError:
        return None
