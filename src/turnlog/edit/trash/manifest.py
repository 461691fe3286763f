"""What lies in the trash: for each deleted session a list of its files and folders, as they were.

    <trash>/<entry>/manifest.json      this list; written before anything is moved
    <trash>/<entry>/files/<place>      each file, at its place below the config folder
    <trash>/<entry>/history.jsonl      the whole history, if lines were taken out of it

The list is read back as a stranger's: places that lead out of the config folder are refused.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from turnlog.edit.trash.file_move import hash_file_content
from turnlog.errors import Unreadable

TRASH_VERSION = 1
TRASH_MANIFEST_NAME = "manifest.json"


@dataclass(frozen=True, slots=True)
class TrashItem:
    """One file, folder or link that belonged to a session."""

    place: str
    """Below the config folder, with `/`."""
    kind: str
    """file, folder, link or other."""
    mode: int
    mtime_ns: int
    size: int = 0
    sha256: str | None = None
    target: str | None = None
    """Where a link leads."""


@dataclass(frozen=True, slots=True)
class TrashManifest:
    """A deleted session."""

    session_id: str
    title: str | None
    project: str | None
    """The working folder."""
    config_dir: str
    deleted: str
    """When, in UTC."""
    items: tuple[TrashItem, ...]
    """Folders before what is in them; the session file is the last."""
    history_lines: int = 0
    links: dict[str, str] = field(default_factory=dict)
    """Folders of the config folder that were links, and where they led: people keep some on another disk."""
    version: int = TRASH_VERSION

    @property
    def size(self) -> int:
        """How many bytes its files have."""
        return sum(item.size for item in self.items)

    @property
    def files(self) -> list[TrashItem]:
        """All but folders."""
        return [item for item in self.items if item.kind != "folder"]


def describe_item(path: Path, config_dir: Path) -> TrashItem:
    """Describe what stands at a path."""
    status = path.lstat()
    place = path.relative_to(config_dir).as_posix()
    mode, time = stat.S_IMODE(status.st_mode), status.st_mtime_ns
    if stat.S_ISLNK(status.st_mode):
        return TrashItem(place, "link", mode, time, target=os.fspath(path.readlink()))
    if stat.S_ISDIR(status.st_mode):
        return TrashItem(place, "folder", mode, time)
    if stat.S_ISREG(status.st_mode):
        return TrashItem(place, "file", mode, time, status.st_size, hash_file_content(path))
    return TrashItem(place, "other", mode, time)


def encode_trash_manifest(manifest: TrashManifest) -> bytes:
    """A manifest as JSON; names that are no UTF-8 are kept as escapes."""
    return json.dumps(asdict(manifest), indent=1).encode() + b"\n"


def decode_trash_manifest(data: bytes, path: Path) -> TrashManifest:
    """Read a manifest back; `Unreadable` if it is none or names places that are not its business."""
    try:
        found: Any = json.loads(data)
        manifest = msgspec.convert(found, TrashManifest)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise Unreadable(f"{path}: no list of a deleted session ({error}); its files lie beside it") from error
    if manifest.version != TRASH_VERSION:
        raise Unreadable(f"{path}: written by another version of turnlog; use that one")
    if _parse_time(manifest.deleted) is None:
        raise Unreadable(f"{path}: says {manifest.deleted!r} where a time should be")
    for item in manifest.items:
        if not _is_safe_place(item.place):
            raise Unreadable(f"{path}: names the place {item.place!r}, which is none of a session's")
    return manifest


def _parse_time(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else None


def _is_safe_place(place: str) -> bool:
    parts = PurePosixPath(place).parts
    plain = parts and not place.startswith("/") and "\0" not in place
    return bool(plain) and not any(part == ".." or (os.name == "nt" and set(part) & set("\\:")) for part in parts)
