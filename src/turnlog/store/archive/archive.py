"""Reads the archive: sessions, their generations, and the bytes of their files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from turnlog.entries.layout import is_session_id
from turnlog.errors import Ambiguous, NotFound, Unreadable
from turnlog.store.archive.blobs import Blobs
from turnlog.store.archive.manifest import KeptFile, Manifests, SessionManifest

_MAX_LISTED_NAMES = 5


class Archive:
    """The archive in turnlog's data folder, which may be empty."""

    def __init__(self, data_dir: Path) -> None:
        self.folder = data_dir / "archive"
        self.blobs = Blobs(self.folder / "blobs")
        self.manifests = Manifests(self.folder / "sessions")
        self._files: dict[str, KeptFile] = {}

    def list_sessions(self) -> list[SessionManifest]:
        """List the newest readable generation of each session."""
        manifests = (self.read_newest(name, numbers) for name, numbers in self.manifests.list_generations().items())
        return [manifest for manifest in manifests if manifest]

    def list_ids(self) -> set[str]:
        """Return the ids of all archived sessions, with a single folder listing."""
        return self.manifests.list_session_ids()

    def has_session(self, session_id: str) -> bool:
        """Return whether the archive contains anything from a session."""
        return session_id in self.list_ids()

    def list_generations(self, name: str) -> list[SessionManifest]:
        """List all generations of a session (`SessionManifest.name`), oldest first."""
        return [self.manifests.read(name, number) for number in self.manifests.list_generations().get(name, [])]

    def find_session(self, word: str) -> SessionManifest:
        """Find a session by its id, the start of its id, or its title."""
        start, folded = word.lower(), " ".join(word.split()).casefold()
        sessions = self.list_sessions()
        matches = [item for item in sessions if start and item.name.lower().startswith(start)]
        matches = matches or [
            item for item in sessions if " ".join((item.title or "").split()).casefold() == folded != ""
        ]
        if not matches:
            raise NotFound(f"no session {word!r} in the archive; `turnlog archive list` shows what it contains")
        if len(matches) > 1:
            several = ", ".join(item.name for item in matches[:_MAX_LISTED_NAMES]) + (
                " …" if len(matches) > _MAX_LISTED_NAMES else ""
            )
            raise Ambiguous(
                f"{word!r} matches {len(matches)} archived sessions: {several}; use a longer part of the name"
            )
        return matches[0]

    def read_file(self, session_id: str, path: str) -> bytes:
        """Read a file of a session by its path below the config folder."""
        for manifest in self.list_sessions():
            if manifest.session_id == session_id and (file := manifest.find_file(path)):
                return b"".join(self.iter_chunks(file))
        raise NotFound(f"file {path} of session {session_id} is not in the archive")

    def read_at(self, path: str | Path, offset: int, size: int) -> bytes:
        """Read bytes of a file by its original path on disk; return fewer than `size` only at its end."""
        file = self._find_file(os.fspath(path)) or self._find_file(os.path.realpath(path))
        if file is None:
            raise NotFound(f"{path}: not in the archive")
        parts, position = [], 0
        for ref in file.refs:
            start, end = max(offset - position, 0), min(offset + size - position, ref.size)
            if start < end:
                parts.append(self.blobs.get(ref.blob)[ref.start + start : ref.start + end])
            position += ref.size
        return b"".join(parts)

    def iter_chunks(self, file: KeptFile) -> Iterator[bytes]:
        """Yield the bytes of a file in parts; raise `Unreadable` at the end if they differ from what was archived."""
        running, size = sha256(), 0
        for ref in file.refs:
            part = self.blobs.get(ref.blob)[ref.start : ref.start + ref.size]
            running.update(part)
            size += len(part)
            yield part
        if (size, running.hexdigest()) != (file.size, file.digest):
            raise Unreadable(f"{file.path}: damaged in the archive (its content differs from what was archived)")

    def _find_file(self, path: str) -> KeptFile | None:
        """Find a file by its original path, which usually contains the session's id."""
        if path not in self._files:
            ids = [part[:36] for part in re.split(r"[/\\]", path) if is_session_id(part[:36])]
            for name, numbers in self.manifests.list_generations().items():
                manifest = self.read_newest(name, numbers) if not ids or name[:36] in ids else None
                self._files |= {manifest.to_absolute_path(file): file for file in manifest.files} if manifest else {}
        return self._files.get(path)

    def read_newest(self, name: str, numbers: list[int]) -> SessionManifest | None:
        """Read the newest readable one of a session's generations."""
        for number in reversed(numbers):
            try:
                return self.manifests.read(name, number)
            except Unreadable:
                continue
        return None
