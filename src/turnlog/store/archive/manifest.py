"""Manifests: the files of a session, and the blobs that they consist of."""

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
from turnlog.work_progress import report_items

MANIFEST_FORMAT = 1
_MAX_MANIFEST_BYTES = 256 << 20
"""Manifests are smaller than this; a damaged one must not exhaust the memory."""
_MANIFEST_FILE_NAME = re.compile(r"([0-9A-Fa-f-]{36})\.([0-9a-f]{12})\.([1-9]\d{0,8})\.json\.zst")


class BlobRef(msgspec.Struct, array_like=True, frozen=True):
    """A stretch of a blob."""

    blob: str
    start: int
    size: int


class FileFingerprint(msgspec.Struct, array_like=True, frozen=True):
    """The status of a file when it was read; as long as it is unchanged, so is the content."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class KeptFile(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    path: str
    """The path below the config folder, with `/` separators; `%` and bytes that aren't UTF-8 are written as %XX."""
    size: int
    mtime_ns: int
    """When these bytes were written; a later touch without changes doesn't count."""
    mode: int
    digest: str
    """The SHA-256 of the whole file."""
    refs: tuple[BlobRef, ...]
    seen: FileFingerprint | None = None
    """None if the file had changed too recently for its status to be reliable."""
    gone_ns: int = 0
    """When it went missing; 0 while it exists."""


class SessionManifest(msgspec.Struct, frozen=True, kw_only=True):
    """A generation of a session."""

    format: int = MANIFEST_FORMAT
    session_id: str
    config_dir: str
    """The config folder that it came from, escaped like the paths."""
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
    """The last timestamp in the session, exactly as recorded."""
    files: tuple[KeptFile, ...]

    @property
    def name(self) -> str:
        """The name shared by all generations of this session: its id and a hash of its project's location."""
        return f"{self.session_id}.{hash_project_place(self.config_dir, self.project)}"

    @property
    def main(self) -> str:
        """The path of the session's own file."""
        return f"projects/{self.project}/{self.session_id}.jsonl"

    @property
    def size(self) -> int:
        """The total size of the files in bytes."""
        return sum(file.size for file in self.files)

    def find_file(self, path: str) -> KeptFile | None:
        return next((file for file in self.files if file.path == path), None)

    def list_blobs(self) -> set[str]:
        """Return the names of all blobs that the files consist of."""
        return {ref.blob for file in self.files for ref in file.refs}

    def to_absolute_path(self, file: KeptFile) -> str:
        """Return the original path of a file."""
        return os.path.join(unescape_path(self.config_dir), *unescape_path(file.path).split("/"))  # noqa: PTH118


class ManifestLabel(NamedTuple):
    """The parts of a manifest's file name."""

    name: str
    generation: int


def hash_project_place(config_dir: str, project: str) -> str:
    """Hash the location of a project folder, because the same session may be in several folders."""
    return sha256(f"{config_dir}\0{project}".encode()).hexdigest()[:12]


def build_archive_name(file: SessionFile) -> str:
    """Return the name under which a session on disk is archived."""
    folder = escape_path(os.path.realpath(file.config_dir))
    return f"{file.session_id}.{hash_project_place(folder, escape_path(file.project_dir.name))}"


class Manifests:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._compressor = zstandard.ZstdCompressor(level=6, write_checksum=True)

    def list_generations(self) -> dict[str, list[int]]:
        """List the generations of every session by name, oldest first."""
        generations: dict[str, list[int]] = {}
        for item in self._list_names():
            if label := _parse_label(item):
                generations.setdefault(label.name, []).append(label.generation)
        return {name: sorted(numbers) for name, numbers in sorted(generations.items())}

    def list_session_ids(self) -> set[str]:
        """Return the ids of all sessions, from the file names alone; empty if the folder can't be listed."""
        return {label.name[:36] for item in scan_folder(self.folder) if (label := _parse_label(item.name))}

    def get_path(self, name: str, generation: int) -> Path:
        return self.folder / f"{name}.{generation}.json.zst"

    def read(self, name: str, generation: int) -> SessionManifest:
        """Read one generation; raise `Unreadable` if it is damaged."""
        path = self.get_path(name, generation)
        try:
            packed = path.read_bytes()
            if not 0 <= zstandard.frame_content_size(packed) <= _MAX_MANIFEST_BYTES:
                raise Unreadable(f"{path}: damaged (not a manifest)")
            manifest = msgspec.json.decode(zstandard.ZstdDecompressor().decompress(packed), type=SessionManifest)
        except (zstandard.ZstdError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise Unreadable(f"{path}: damaged ({error})") from error
        except OSError as error:
            raise Unreadable(f"{path}: {error.strerror}") from error
        if manifest.format != MANIFEST_FORMAT:
            raise Unreadable(f"{path}: written by a different version of turnlog (format {manifest.format})")
        if (manifest.name, manifest.generation) != (name, generation):
            raise Unreadable(f"{path}: damaged (it describes a different session)")
        return manifest

    def find_last_generation(self, name: str, known: int) -> int:
        """Return a session's newest generation number, searching upward from `known`; 0 if there is none."""
        while self.get_path(name, known + 1).exists():
            known += 1
        return known if self.get_path(name, known).exists() else 0

    def iter_manifests(self) -> Iterator[SessionManifest | Unreadable]:
        """Yield every generation of every session or, for a damaged one, the error."""
        generations = [(name, number) for name, numbers in self.list_generations().items() for number in numbers]
        for name, number in report_items("reading the archive", generations):
            try:
                yield self.read(name, number)
            except Unreadable as error:
                yield error

    def write(self, manifest: SessionManifest) -> None:
        """Write a manifest in place of the previous one."""
        packed = self._compressor.compress(msgspec.json.encode(manifest))
        durable_write.write_durably(self.get_path(manifest.name, manifest.generation), packed)

    def drop(self, name: str, generation: int) -> None:
        self.get_path(name, generation).unlink(missing_ok=True)

    def _list_names(self) -> list[str]:
        return [item.name for item in list_folder(self.folder)]


def _parse_label(item: str) -> ManifestLabel | None:
    match = _MANIFEST_FILE_NAME.fullmatch(item)
    if not match or not is_session_id(match[1]):
        return None
    return ManifestLabel(f"{match[1]}.{match[2]}", int(match[3]))
