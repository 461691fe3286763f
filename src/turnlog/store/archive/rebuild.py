"""Rebuilds damaged manifests from the blobs that no other manifest refers to.

The file name of a manifest identifies its session; its blobs contain lines that name the session and the sub-agent. The
transcripts are assembled from these lines in chronological order. What only the manifest recorded is lost: the
session's other files, when the files were written, and whether anything is missing in between.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.layout import is_missing
from turnlog.entries.line_decoder import decode_first_object
from turnlog.entries.path_escapes import escape_path, unescape_path
from turnlog.entries.slug import make_slug
from turnlog.errors import Unreadable
from turnlog.store.archive.archive import Archive
from turnlog.store.archive.archive_lock import lock_archive
from turnlog.store.archive.manifest import BlobRef, KeptFile, SessionManifest, hash_project_place

_AGENT_ID_FIELD = re.compile(rb'"agentId"\s*:\s*"([^"\\/]{1,200})"')
_TIMESTAMP_FIELD = re.compile(rb'"timestamp"\s*:\s*"(\d{4}-\d\d-\d\dT[^"\\]{1,30})"')
_CWD_FIELD = re.compile(rb'"cwd"\s*:\s*"([^"\\]+)"')
_FILE_MODE = 0o600
_PIECE_MARK = "\0"
"""A placeholder for the unknown agent of an incomplete line; no agent has this name."""


class MendedManifest(NamedTuple):
    """The result of repairing a damaged manifest."""

    session_id: str
    generation: int
    files: int
    """How many transcripts were put together again."""
    bytes: int
    on_disk: bool
    """Whether the session's own file still exists, so that the next run archives it."""
    older: int
    """How many older generations can be read."""

    def __str__(self) -> str:
        head = f"{self.session_id}, generation {self.generation}: the manifest was damaged and has been moved aside; "
        if self.on_disk:
            return f"{head}the session is still on disk; `turnlog archive run` archives it again"
        if self.files:
            rebuilt = f"transcripts rebuilt from blobs: {self.files} ({self.bytes:,} bytes)"
            return f"{head}{rebuilt}; the session's other files are lost"
        rest = f"intact older generations: {self.older}" if self.older else "the archive contains no older generation"
        return f"{head}no blobs of this session were found; {rest}"


class _ProjectHome(NamedTuple):
    config_dir: str
    project: str


class _BlobLines(NamedTuple):
    """Adjacent lines of one file in a blob."""

    time: bytes
    agent: str | None
    ref: BlobRef
    data: bytes


def mend_manifests(archive: Archive, config_dirs: Iterable[Path]) -> list[MendedManifest]:
    """Move damaged manifests aside and rebuild what can be rebuilt."""
    with lock_archive(archive.folder):
        intact = [item for item in archive.manifests.iter_manifests() if isinstance(item, SessionManifest)]
        return [_mend_manifest(archive, label, intact, list(config_dirs)) for label in _list_damaged(archive)]


def _list_damaged(archive: Archive) -> list[tuple[str, int]]:
    damaged = []
    for name, numbers in archive.manifests.list_generations().items():
        for number in numbers:
            try:
                archive.manifests.read(name, number)
            except Unreadable as error:
                if "damaged" in str(error):  # not from a later version, and not just temporarily unreadable
                    damaged.append((name, number))
    return damaged


def _mend_manifest(
    archive: Archive, label: tuple[str, int], intact: list[SessionManifest], config_dirs: list[Path]
) -> MendedManifest:
    name, number = label
    session_id, mark = name[:36], name[37:]
    used = {blob for manifest in intact for blob in manifest.list_blobs()}
    runs = list(_find_session_lines(archive, session_id, sorted(archive.blobs.list_names() - used)))
    home = _find_project_home(mark, intact, config_dirs, runs)
    path = archive.manifests.get_path(name, number)
    aside = archive.folder / "damaged"
    aside.mkdir(parents=True, exist_ok=True)
    path.replace(aside / path.name)
    older = sum(manifest.name == name for manifest in intact)
    on_disk = home is not None and not is_missing(_build_main_path(home, session_id))
    files = [] if on_disk or home is None else list(_rebuild_files(session_id, home, runs))
    if home is not None and any(file.path.endswith(f"{session_id}.jsonl") for file in files):
        _write_manifest(archive, session_id, number, home, files)
        return MendedManifest(session_id, number, len(files), sum(file.size for file in files), on_disk, older)
    return MendedManifest(session_id, number, 0, 0, on_disk, older)


def _find_session_lines(archive: Archive, session_id: str, blobs: Iterable[str]) -> Iterator[_BlobLines]:
    """Yield the lines in the given blobs that belong to a session, and pieces of lines whose owner is unknown."""
    texts = {}
    for name in blobs:
        try:
            data = archive.blobs.get(name)
        except Unreadable:
            continue
        if session_id.encode() in data:
            texts[name] = data
        elif b'"sessionId"' not in data:
            yield _BlobLines(b"", _PIECE_MARK, BlobRef(name, 0, len(data)), data)
    for name, data in texts.items():
        # A stretch that was joined with the next one is also in the joined blob.
        if not any(data in other and (len(data), name) < (len(other), key) for key, other in texts.items()):
            yield from _split_blob(name, data)


def _split_blob(name: str, data: bytes) -> Iterator[_BlobLines]:
    """Split a blob where the lines of a different file start; keep a line without an owner with the lines before it."""
    start = at = 0
    owner: str | None = None
    is_known = False
    for line in data.splitlines(keepends=True):
        agent = _AGENT_ID_FIELD.search(line)
        says = agent is not None or b'"sessionId"' in line
        own = agent[1].decode("utf-8", "replace") if agent else None
        if says and is_known and own != owner:
            yield _build_blob_lines(name, data, start, at, owner)
            start = at
        if says:
            owner, is_known = own, True
        at += len(line)
    yield _build_blob_lines(name, data, start, len(data), owner)


def _build_blob_lines(name: str, data: bytes, start: int, end: int, agent: str | None) -> _BlobLines:
    piece = data[start:end]
    time = _TIMESTAMP_FIELD.search(piece)
    return _BlobLines(time[1] if time else b"", agent, BlobRef(name, start, end - start), piece)


def _find_project_home(
    mark: str, intact: list[SessionManifest], config_dirs: list[Path], runs: list[_BlobLines]
) -> _ProjectHome | None:
    """Find the project whose hash is in the name of a manifest."""
    known = {_ProjectHome(item.config_dir, item.project) for item in intact}
    cwds = {match[1].decode("utf-8", "replace") for run in runs for match in _CWD_FIELD.finditer(run.data)}
    folders = {escape_path(str(folder.resolve())) for folder in config_dirs} | {home.config_dir for home in known}
    projects = {make_slug(cwd) for cwd in cwds}
    for folder in config_dirs:
        projects |= {item.name for item in (folder / "projects").glob("*")}
    known |= {_ProjectHome(folder, escape_path(project)) for folder in folders for project in projects}
    return next((home for home in known if hash_project_place(*home) == mark), None)


def _build_main_path(home: _ProjectHome, session_id: str) -> Path:
    return Path(unescape_path(home.config_dir), "projects", unescape_path(home.project), f"{session_id}.jsonl")


def _rebuild_files(session_id: str, home: _ProjectHome, runs: list[_BlobLines]) -> Iterator[KeptFile]:
    base = f"projects/{home.project}/{session_id}"
    pieces = [run for run in runs if run.agent == _PIECE_MARK]
    for agent in dict.fromkeys(run.agent for run in runs if run.agent != _PIECE_MARK):
        own = _drop_repeated_lines(sorted((run for run in runs if run.agent == agent), key=_get_sort_key))
        own = list(_join_cut_lines(own, pieces))
        data = b"".join(run.data for run in own)
        path = f"{base}.jsonl" if agent is None else f"{base}/subagents/agent-{escape_path(agent)}.jsonl"
        yield KeptFile(
            path=path,
            size=len(data),
            mtime_ns=time.time_ns(),
            mode=_FILE_MODE,
            digest=sha256(data).hexdigest(),
            refs=tuple(run.ref for run in own),
        )


def _get_sort_key(run: _BlobLines) -> tuple[bytes, bool]:
    # A blob that starts within a line shares its first time with the blob that starts with the next line.
    return run.time, run.data.startswith(b"{")


def _drop_repeated_lines(runs: list[_BlobLines]) -> list[_BlobLines]:
    """Drop lines that were stored again together with the lines that followed them."""
    remaining = runs
    while True:
        before = len(remaining)
        for run in sorted(remaining, key=lambda run: len(run.data)):
            others = [other for other in remaining if other is not run]
            if run.data in b"".join(other.data for other in others):
                remaining = others
        if len(remaining) == before:
            return remaining


def _join_cut_lines(runs: list[_BlobLines], pieces: list[_BlobLines]) -> Iterator[_BlobLines]:
    """Yield the lines; after a line that was cut between two blobs, yield the piece that completes it."""
    for run, following in zip(runs, [*runs[1:], None], strict=True):
        yield run
        start = run.data.rpartition(b"\n")[2]
        if start and (following is None or following.data.startswith(b"{")):
            yield from [piece for piece in pieces if decode_first_object(start + piece.data.partition(b"\n")[0])][:1]


def _write_manifest(archive: Archive, session_id: str, number: int, home: _ProjectHome, files: list[KeptFile]) -> None:
    now = time.time_ns()
    archive.manifests.write(
        SessionManifest(
            session_id=session_id,
            config_dir=home.config_dir,
            project=home.project,
            generation=number,
            made_ns=now,
            changed_ns=now,
            files=tuple(sorted(files, key=lambda file: file.path)),
        )
    )
