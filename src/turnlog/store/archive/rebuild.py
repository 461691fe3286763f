"""Making manifests again that are damaged, out of the blobs that no other manifest names.

A manifest's name says whose it is; its blobs hold lines that name the session and the sub-agent. From these the
transcripts are put together in the order of their times. What the manifest alone knew is lost: other files of the
session, when they were written, and whether anything is missing in between.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.decode import first_object
from turnlog.entries.layout import is_missing
from turnlog.entries.slug import slug
from turnlog.entries.spelling import escaped, unescaped
from turnlog.errors import Unreadable
from turnlog.store.archive.archive import Archive
from turnlog.store.archive.lock import locked
from turnlog.store.archive.manifest import KeptFile, Manifest, Ref, place

_AGENT = re.compile(rb'"agentId"\s*:\s*"([^"\\/]{1,200})"')
_TIME = re.compile(rb'"timestamp"\s*:\s*"(\d{4}-\d\d-\d\dT[^"\\]{1,30})"')
_CWD = re.compile(rb'"cwd"\s*:\s*"([^"\\]+)"')
_MODE = 0o600
_PIECE = "\0"
"""The agent of a piece of a line, which can't be told: no agent has such a name."""


class Mended(NamedTuple):
    """What became of a damaged manifest."""

    session_id: str
    generation: int
    files: int
    """Transcripts that were put together again; 0: none."""
    bytes: int
    on_disk: bool
    """The session's own file is there: the next run archives it."""
    older: int
    """How many older generations can be read."""

    def __str__(self) -> str:
        head = f"{self.session_id}, generation {self.generation}: the manifest was damaged and is put aside; "
        if self.on_disk:
            return f"{head}the session is on disk, and `turnlog archive run` archives it again"
        if self.files:
            return (
                f"{head}{self.files} of its transcripts, {self.bytes:,} bytes, rebuilt from blobs; other files are lost"
            )
        kept = f"{self.older} older generations are sound" if self.older else "nothing else of it is in the archive"
        return f"{head}no blob could be told to be its own; {kept}"


class _Home(NamedTuple):
    config_dir: str
    project: str


class _Lines(NamedTuple):
    """Lines of one file that stand together in a blob."""

    time: bytes
    agent: str | None
    ref: Ref
    data: bytes


def mend_manifests(archive: Archive, config_dirs: Iterable[Path]) -> list[Mended]:
    """Put damaged manifests aside, and make them again as far as that can be done."""
    with locked(archive.folder):
        sound = [item for item in archive.manifests.all() if isinstance(item, Manifest)]
        return [_mend(archive, label, sound, list(config_dirs)) for label in _damaged(archive)]


def _damaged(archive: Archive) -> list[tuple[str, int]]:
    found = []
    for name, numbers in archive.manifests.labels().items():
        for number in numbers:
            try:
                archive.manifests.read(name, number)
            except Unreadable as error:
                if "damaged" in str(error):  # not one of a later version, nor one that can't be read now
                    found.append((name, number))
    return found


def _mend(archive: Archive, label: tuple[str, int], sound: list[Manifest], config_dirs: list[Path]) -> Mended:
    name, number = label
    session_id, mark = name[:36], name[37:]
    used = {blob for manifest in sound for blob in manifest.blobs()}
    runs = list(_runs(archive, session_id, sorted(archive.blobs.names() - used)))
    home = _home(mark, sound, config_dirs, runs)
    path = archive.manifests.path(name, number)
    aside = archive.folder / "damaged"
    aside.mkdir(parents=True, exist_ok=True)
    path.replace(aside / path.name)
    older = sum(manifest.name == name for manifest in sound)
    on_disk = home is not None and not is_missing(_main(home, session_id))
    files = [] if on_disk or home is None else list(_files(session_id, home, runs))
    if home is not None and any(file.path.endswith(f"{session_id}.jsonl") for file in files):
        _write(archive, session_id, number, home, files)
        return Mended(session_id, number, len(files), sum(file.size for file in files), on_disk, older)
    return Mended(session_id, number, 0, 0, on_disk, older)


def _runs(archive: Archive, session_id: str, blobs: Iterable[str]) -> Iterator[_Lines]:
    """The lines in some blobs that belong to a session, and pieces of lines that say nothing."""
    texts = {}
    for name in blobs:
        try:
            data = archive.blobs.get(name)
        except Unreadable:
            continue
        if session_id.encode() in data:
            texts[name] = data
        elif b'"sessionId"' not in data:
            yield _Lines(b"", _PIECE, Ref(name, 0, len(data)), data)
    for name, data in texts.items():
        # A stretch that was joined with the next is in the blob that came of that.
        if not any(data in other and (len(data), name) < (len(other), key) for key, other in texts.items()):
            yield from _split(name, data)


def _split(name: str, data: bytes) -> Iterator[_Lines]:
    """A blob cut where the lines of another file begin; a line that does not say whose it is goes with those before."""
    start = at = 0
    owner: str | None = None
    is_known = False
    for line in data.splitlines(keepends=True):
        agent = _AGENT.search(line)
        says = agent is not None or b'"sessionId"' in line
        own = agent[1].decode("utf-8", "replace") if agent else None
        if says and is_known and own != owner:
            yield _run(name, data, start, at, owner)
            start = at
        if says:
            owner, is_known = own, True
        at += len(line)
    yield _run(name, data, start, len(data), owner)


def _run(name: str, data: bytes, start: int, end: int, agent: str | None) -> _Lines:
    piece = data[start:end]
    time = _TIME.search(piece)
    return _Lines(time[1] if time else b"", agent, Ref(name, start, end - start), piece)


def _home(mark: str, sound: list[Manifest], config_dirs: list[Path], runs: list[_Lines]) -> _Home | None:
    """The project that the mark in a manifest's name was made of."""
    known = {_Home(item.config_dir, item.project) for item in sound}
    cwds = {found[1].decode("utf-8", "replace") for run in runs for found in _CWD.finditer(run.data)}
    folders = {escaped(str(folder.resolve())) for folder in config_dirs} | {home.config_dir for home in known}
    projects = {slug(cwd) for cwd in cwds}
    for folder in config_dirs:
        projects |= {item.name for item in (folder / "projects").glob("*")}
    known |= {_Home(folder, escaped(project)) for folder in folders for project in projects}
    return next((home for home in known if place(*home) == mark), None)


def _main(home: _Home, session_id: str) -> Path:
    return Path(unescaped(home.config_dir), "projects", unescaped(home.project), f"{session_id}.jsonl")


def _files(session_id: str, home: _Home, runs: list[_Lines]) -> Iterator[KeptFile]:
    base = f"projects/{home.project}/{session_id}"
    pieces = [run for run in runs if run.agent == _PIECE]
    for agent in dict.fromkeys(run.agent for run in runs if run.agent != _PIECE):
        own = _current(sorted((run for run in runs if run.agent == agent), key=_order))
        own = list(_joined(own, pieces))
        data = b"".join(run.data for run in own)
        path = f"{base}.jsonl" if agent is None else f"{base}/subagents/agent-{escaped(agent)}.jsonl"
        yield KeptFile(
            path=path,
            size=len(data),
            mtime_ns=time.time_ns(),
            mode=_MODE,
            digest=sha256(data).hexdigest(),
            refs=tuple(run.ref for run in own),
        )


def _order(run: _Lines) -> tuple[bytes, bool]:
    # A blob that begins within a line has the time of the next line first, as the blob has that begins with that.
    return run.time, run.data.startswith(b"{")


def _current(runs: list[_Lines]) -> list[_Lines]:
    """Lines without those that were stored again, joined with what came behind them."""
    kept = runs
    while True:
        before = len(kept)
        for run in sorted(kept, key=lambda run: len(run.data)):
            others = [other for other in kept if other is not run]
            if run.data in b"".join(other.data for other in others):
                kept = others
        if len(kept) == before:
            return kept


def _joined(runs: list[_Lines], pieces: list[_Lines]) -> Iterator[_Lines]:
    """Lines with the piece behind a line that was cut between two blobs, where one makes it whole."""
    for run, following in zip(runs, [*runs[1:], None], strict=True):
        yield run
        start = run.data.rpartition(b"\n")[2]
        if start and (following is None or following.data.startswith(b"{")):
            yield from [piece for piece in pieces if first_object(start + piece.data.partition(b"\n")[0])][:1]


def _write(archive: Archive, session_id: str, number: int, home: _Home, files: list[KeptFile]) -> None:
    now = time.time_ns()
    archive.manifests.write(
        Manifest(
            session_id=session_id,
            config_dir=home.config_dir,
            project=home.project,
            generation=number,
            made_ns=now,
            changed_ns=now,
            files=tuple(sorted(files, key=lambda file: file.path)),
        )
    )
