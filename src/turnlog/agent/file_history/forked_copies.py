"""Gives a fork the copies of files that its earlier prompts name, so that `/rewind` works in it as well."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from turnlog.agent.file_history.snapshots import SNAPSHOT_TYPES, Snapshots
from turnlog.entries.entry import Entry
from turnlog.session.session import Session


def find_snapshot_lines(session: Session, prompts: set[str | None]) -> list[Entry]:
    """Return the lines that name copies of files for some prompts."""
    found = []
    for entry in session.entries:
        if entry.type not in SNAPSHOT_TYPES:
            continue
        body = session.read_body(entry)
        snapshot = body.get("snapshot")
        prompt = snapshot.get("messageId") if isinstance(snapshot, dict) else body.get("snapshotMessageId")
        if prompt in prompts:
            found.append(entry)
    return found


def find_copies_folder(session_path: Path) -> Path | None:
    """Return the folder for the copies of a session, or None if the session is not in a config folder."""
    projects = session_path.parents[1]
    return projects.parent / "file-history" / session_path.stem if projects.name == "projects" else None


def link_copies(source: Path, target: Path, snapshots: Snapshots) -> None:
    """Link the copies that snapshots name into another session's folder; copies never change once they exist."""
    names = {copy.name for copies in snapshots.values() for copy in copies.values() if copy.name is not None}
    for name in sorted(names):
        with suppress(OSError):  # /rewind says which copies are gone
            if not stat.S_ISREG((source / name).lstat().st_mode):
                continue
            target.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                os.link(source / name, target / name)
            except FileExistsError:
                continue
            except OSError:  # another file system, or one without links
                shutil.copyfile(source / name, target / name, follow_symlinks=False)
