"""Reads which copies of files a session names, for each prompt.

A `file-history-snapshot` names the copies of all tracked files as they were when a prompt started. During the turn,
more files become tracked: clients up to 2.1.45 then write the whole snapshot again (`isSnapshotUpdate`), and clients
since 2.1.209 write a `file-history-delta`. Claude Code 2.1.325 reads both, but 2.1.45 only reads snapshots.

    read_snapshots  a session's snapshots, by prompt

Names of files and copies come from a transcript, so nothing here opens them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from turnlog.session.session import Session

SNAPSHOT_TYPES = frozenset({"file-history-snapshot", "file-history-delta"})
_COPY_NAME_PATTERN = re.compile(r"[0-9A-Za-z_-]{1,80}@v[0-9]{1,9}", re.ASCII)
"""Matches only names that can't lead to a different folder."""
_MAX_VERSION = 10**9


class FileCopy(NamedTuple):
    """One copy of a file, or the fact that the file did not exist."""

    name: str | None
    """The name of the copy in the session's folder of copies; None if the file did not exist."""
    version: int
    time: str

    def to_line(self, folder: str) -> dict[str, Any]:
        """Return the copy as clients write it; `folder` is the folder that contains the file."""
        return {"backupFileName": self.name, "version": self.version, "backupTime": self.time, "realParentDir": folder}


Snapshots = dict[str, dict[str, FileCopy]]
"""The copies by prompt (its uuid) and by file, in the order of the prompts."""


def read_snapshots(session: Session) -> Snapshots:
    """Return the copies that a session names, with the prompts in the order of their latest snapshot."""
    found: Snapshots = {}
    for body in (session.read_body(entry) for entry in session.entries if entry.type in SNAPSHOT_TYPES):
        if body.get("type") == "file-history-delta":
            prompt, path, copy = (
                body.get("snapshotMessageId"),
                body.get("trackingPath"),
                _parse_copy(body.get("backup")),
            )
            if isinstance(prompt, str) and prompt in found and isinstance(path, str) and copy is not None:
                found[prompt][path] = copy
            continue
        snapshot = body.get("snapshot")
        prompt = snapshot.get("messageId") if isinstance(snapshot, Mapping) else None
        if isinstance(prompt, str) and isinstance(snapshot, Mapping):
            found[prompt] = _parse_copies(snapshot.get("trackedFileBackups"))
    return found


def find_next_versions(snapshots: Snapshots) -> dict[str, int]:
    """Return the next free version of each file; versions of abandoned branches are not used again."""
    versions: dict[str, int] = {}
    for copies in snapshots.values():
        for path, copy in copies.items():
            versions[path] = max(versions.get(path, 0), copy.version + 1)
    return versions


def _parse_copies(tracked: Any) -> dict[str, FileCopy]:
    if not isinstance(tracked, Mapping):
        return {}
    copies = ((path, _parse_copy(one)) for path, one in tracked.items())
    return {path: copy for path, copy in copies if copy is not None}


def _parse_copy(one: Any) -> FileCopy | None:
    """Return a copy, or None if its name could lead elsewhere or its version is not a number."""
    if not isinstance(one, Mapping):
        return None
    name, version = one.get("backupFileName"), one.get("version")
    is_name = name is None or (isinstance(name, str) and _COPY_NAME_PATTERN.fullmatch(name) is not None)
    if not is_name or not isinstance(version, int) or not 0 <= version < _MAX_VERSION:
        return None
    return FileCopy(name, version, str(one.get("backupTime") or ""))
