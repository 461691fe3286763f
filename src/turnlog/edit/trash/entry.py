"""Entries in the trash: each is a deleted session with a list of its files and folders, and can be found by name.

    <trash>/<entry>/manifest.json      the list; flushed to disk before anything is moved
    <trash>/<entry>/files/<place>      each file, at its path relative to the config folder
    <trash>/<entry>/history.jsonl      the whole history, if lines were removed from it

The list is untrusted input: paths that lead outside the config folder are refused.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import msgspec

from turnlog.edit.journal.file_steps import inspect_path
from turnlog.errors import Ambiguous, Changed, NotFound, Unreadable

TRASH_VERSION = 1
TRASH_MANIFEST_NAME = "manifest.json"
FILES_FOLDER_NAME = "files"


@dataclass(frozen=True, slots=True)
class TrashItem:
    """One file, folder or link that belonged to a session."""

    place: str
    """The path below the config folder, with `/`."""
    kind: str
    """file, folder, link or other."""
    mode: int
    mtime_ns: int
    size: int = 0
    sha256: str | None = None
    target: str | None = None
    """The target of a link."""


@dataclass(frozen=True, slots=True)
class TrashManifest:
    """A deleted session."""

    session_id: str
    title: str | None
    project: str | None
    """The working directory."""
    config_dir: str
    deleted: str
    """When it was deleted, in UTC."""
    items: tuple[TrashItem, ...]
    """Folders before their contents, and the session file last."""
    history_lines: int = 0
    links: dict[str, str] = field(default_factory=dict)
    """Folders in the config folder that were links, with their targets; some users keep them on another disk."""
    version: int = TRASH_VERSION

    @property
    def size(self) -> int:
        """The total size of the session's files in bytes."""
        return sum(item.size for item in self.items)

    @property
    def files(self) -> list[TrashItem]:
        """Everything except folders."""
        return [item for item in self.items if item.kind != "folder"]

    @property
    def folders(self) -> list[TrashItem]:
        """The folders, each before its contents."""
        return [item for item in self.items if item.kind == "folder"]


class TrashEntry(NamedTuple):
    folder: Path
    manifest: TrashManifest

    @property
    def name(self) -> str:
        """The entry's name in the trash: the time of the deletion and the session's id."""
        return self.folder.name

    @property
    def settled_at(self) -> datetime | None:
        """When the session was deleted, or None if deleting or restoring it was interrupted."""
        return datetime.fromisoformat(self.manifest.deleted) if self.is_complete else None

    @property
    def is_complete(self) -> bool:
        """Whether all files are in the trash; if not, deleting or restoring was interrupted."""
        return all(os.path.lexists(self.get_place(item)) for item in self.manifest.files)

    def get_place(self, item: TrashItem) -> Path:
        """Return the path of a file in the trash."""
        return self.folder / FILES_FOLDER_NAME / item.place

    def get_home(self, item: TrashItem) -> Path:
        """Return the original path of a file."""
        return Path(self.manifest.config_dir) / item.place


def describe_item(path: Path, config_dir: Path) -> TrashItem:
    state = inspect_path(path)
    if state is None:
        raise Changed(f"{path}: removed in the meantime, so nothing was deleted; try again")
    place = path.relative_to(config_dir).as_posix()
    if path.is_symlink():
        return TrashItem(place, "link", state.mode, state.mtime_ns, target=os.fspath(path.readlink()))
    if state.is_folder:
        return TrashItem(place, "folder", state.mode, state.mtime_ns)
    if path.is_file():
        return TrashItem(place, "file", state.mode, state.mtime_ns, state.size, state.sha256)
    return TrashItem(place, "other", state.mode, state.mtime_ns)


def encode_trash_manifest(manifest: TrashManifest) -> bytes:
    """Encode a manifest as JSON; names that are not valid UTF-8 are escaped."""
    return json.dumps(asdict(manifest), indent=1).encode() + b"\n"


def decode_trash_manifest(data: bytes, path: Path) -> TrashManifest:
    """Parse a manifest; raise `Unreadable` if it is damaged or contains paths outside the config folder."""
    try:
        fields: Any = json.loads(data)
        manifest = msgspec.convert(fields, TrashManifest)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise Unreadable(
            f"{path}: not a valid record of a deleted session ({error}); the session's files are in the same folder"
        ) from error
    if manifest.version != TRASH_VERSION:
        raise Unreadable(f"{path}: written by a different version of turnlog; use that version")
    if _parse_time(manifest.deleted) is None:
        raise Unreadable(f"{path}: {manifest.deleted!r} is not a time")
    for item in manifest.items:
        if not _is_safe_place(item.place):
            raise Unreadable(f"{path}: {item.place!r} is not the path of a session file")
    return manifest


def _parse_time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else None


def _is_safe_place(place: str) -> bool:
    parts = PurePosixPath(place).parts
    plain = parts and not place.startswith("/") and "\0" not in place
    return bool(plain) and not any(part == ".." or (os.name == "nt" and set(part) & set("\\:")) for part in parts)


def find_trash_entry(name: str, entries: list[TrashEntry]) -> TrashEntry:
    """Find the deleted session with this id, id prefix, title, or name in the trash."""
    wanted = " ".join(name.split()).casefold()
    matches = [entry for entry in entries if wanted and _matches_entry(wanted, entry)]
    if not matches:
        raise NotFound(f"no deleted session is called {name!r}; `turnlog undelete --list` lists all deleted sessions")
    if len(matches) > 1:
        names = ", ".join(entry.name for entry in matches[:5])
        raise Ambiguous(f"{name!r} matches {len(matches)} deleted sessions: {names}; use one of these names")
    return matches[0]


def find_newest_entry(entries: list[TrashEntry]) -> TrashEntry:
    """Return the most recently deleted session."""
    if not entries:
        raise NotFound("the trash is empty")
    return entries[0]


def _matches_entry(wanted: str, entry: TrashEntry) -> bool:
    title = " ".join((entry.manifest.title or "").split()).casefold()
    ids = entry.manifest.session_id.lower(), entry.name.lower()
    return title == wanted or any(text.startswith(wanted) for text in ids)
