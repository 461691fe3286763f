"""Manifests: which files a session has, and of which blobs they are made."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec
import zstandard

from turnlog.entries.layout import SessionFile, is_session_id, list_folder, scan_folder
from turnlog.entries.path_escapes import escape_path, unescape_path
from turnlog.errors import Unreadable
from turnlog.store.archive import durable_write

MANIFEST_FORMAT = 1
_MAX_MANIFEST_BYTES = 256 << 20
"""No manifest is longer than this; a damaged one could ask for all memory."""
_MANIFEST_FILE_NAME = re.compile(r"([0-9A-Fa-f-]{36})\.([0-9a-f]{12})\.([1-9]\d{0,8})\.json\.zst")


class BlobRef(msgspec.Struct, array_like=True, frozen=True):
    """A stretch of a blob."""

    blob: str
    start: int
    size: int


class FileFingerprint(msgspec.Struct, array_like=True, frozen=True):
    """How a file looked from outside when it was read: while this stays, so do its bytes."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class KeptFile(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One file of a session."""

    path: str
    """Below the config folder, with `/`; `%` and bytes that are no UTF-8 are written %XX."""
    size: int
    mtime_ns: int
    """When these bytes were written; a later touch that changed nothing does not count."""
    mode: int
    digest: str
    """The SHA-256 of the whole file."""
    refs: tuple[BlobRef, ...]
    seen: FileFingerprint | None = None
    """None if the file was too young to rely on it."""
    gone_ns: int = 0
    """Since when it is missing; 0 while it is there."""


class SessionManifest(msgspec.Struct, frozen=True, kw_only=True):
    """A generation of a session."""

    format: int = MANIFEST_FORMAT
    session_id: str
    config_dir: str
    """The config folder that it came from; written like the paths."""
    project: str
    """The name of its project folder."""
    generation: int
    made_ns: int
    """When this generation was first archived."""
    changed_ns: int
    """When something was last added to it."""
    title: str | None = None
    cwd: str | None = None
    ended: str | None = None
    """The last time in the session, as written."""
    files: tuple[KeptFile, ...]

    @property
    def name(self) -> str:
        """The name of all generations of this session: its id, and a mark of the place where it lies."""
        return f"{self.session_id}.{hash_project_place(self.config_dir, self.project)}"

    @property
    def main(self) -> str:
        """The path of the session's own file."""
        return f"projects/{self.project}/{self.session_id}.jsonl"

    @property
    def size(self) -> int:
        """How many bytes its files have."""
        return sum(file.size for file in self.files)

    def find_file(self, path: str) -> KeptFile | None:
        """The file of that path."""
        return next((file for file in self.files if file.path == path), None)

    def list_blobs(self) -> set[str]:
        """The names of all blobs it needs."""
        return {ref.blob for file in self.files for ref in file.refs}

    def to_absolute_path(self, file: KeptFile) -> str:
        """Where a file lay."""
        return os.path.join(unescape_path(self.config_dir), *unescape_path(file.path).split("/"))  # noqa: PTH118


class ManifestLabel(NamedTuple):
    """What the name of a manifest tells."""

    name: str
    generation: int


def hash_project_place(config_dir: str, project: str) -> str:
    """A short mark of a project folder: the same session may lie in several."""
    return sha256(f"{config_dir}\0{project}".encode()).hexdigest()[:12]


def build_archive_name(file: SessionFile) -> str:
    """The name under which a session on disk is archived."""
    folder = escape_path(os.path.realpath(file.config_dir))
    return f"{file.session_id}.{hash_project_place(folder, escape_path(file.project_dir.name))}"


class Manifests:
    """The folder of manifests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._compressor = zstandard.ZstdCompressor(level=6, write_checksum=True)

    def list_generations(self) -> dict[str, list[int]]:
        """The generations of every session, the oldest first, by name."""
        found: dict[str, list[int]] = {}
        for item in self._list_names():
            if label := _parse_label(item):
                found.setdefault(label.name, []).append(label.generation)
        return {name: sorted(numbers) for name, numbers in sorted(found.items())}

    def list_session_ids(self) -> set[str]:
        """The ids of all sessions, from the names alone; none where the folder can't be listed."""
        return {label.name[:36] for item in scan_folder(self.folder) if (label := _parse_label(item.name))}

    def get_path(self, name: str, generation: int) -> Path:
        """Where a manifest lies."""
        return self.folder / f"{name}.{generation}.json.zst"

    def read(self, name: str, generation: int) -> SessionManifest:
        """One generation; `Unreadable` if it is damaged."""
        path = self.get_path(name, generation)
        try:
            packed = path.read_bytes()
            if not 0 <= zstandard.frame_content_size(packed) <= _MAX_MANIFEST_BYTES:
                raise Unreadable(f"{path}: damaged (not a manifest)")
            found = msgspec.json.decode(zstandard.ZstdDecompressor().decompress(packed), type=SessionManifest)
        except (zstandard.ZstdError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise Unreadable(f"{path}: damaged ({error})") from error
        except OSError as error:
            raise Unreadable(f"{path}: {error.strerror}") from error
        if found.format != MANIFEST_FORMAT:
            raise Unreadable(f"{path}: written by another version of turnlog (format {found.format})")
        if (found.name, found.generation) != (name, generation):
            raise Unreadable(f"{path}: damaged (it tells of another session)")
        return found

    def find_last_generation(self, name: str, known: int) -> int:
        """The number of the newest generation of a session, of which `known` was the newest a moment ago; 0: none."""
        while self.get_path(name, known + 1).exists():
            known += 1
        return known if self.get_path(name, known).exists() else 0

    def iter_manifests(self) -> Iterator[SessionManifest | Unreadable]:
        """Every generation of every session; in place of a damaged one, what is wrong with it."""
        for name, numbers in self.list_generations().items():
            for number in numbers:
                try:
                    yield self.read(name, number)
                except Unreadable as error:
                    yield error

    def write(self, manifest: SessionManifest) -> None:
        """Put a manifest in the place of the one before."""
        packed = self._compressor.compress(msgspec.json.encode(manifest))
        durable_write.write_durably(self.get_path(manifest.name, manifest.generation), packed)

    def drop(self, name: str, generation: int) -> None:
        """Remove a manifest."""
        self.get_path(name, generation).unlink(missing_ok=True)

    def _list_names(self) -> list[str]:
        return [item.name for item in list_folder(self.folder)]


def _parse_label(item: str) -> ManifestLabel | None:
    found = _MANIFEST_FILE_NAME.fullmatch(item)
    if not found or not is_session_id(found[1]):
        return None
    return ManifestLabel(f"{found[1]}.{found[2]}", int(found[3]))
