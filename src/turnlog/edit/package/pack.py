"""Packing sessions into one file, with everything that belongs to them.

Every byte of a session is read once. The files are compressed into a nameless temporary file, because the manifest,
which stands before them, is known only then; the package appears under its name when it is whole.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

import zstandard

from turnlog.edit.package.contents import Contents, contents
from turnlog.edit.package.package import (
    MANIFEST,
    Manifest,
    PackedFile,
    PackedSession,
    Trailer,
    encoded,
    must_be_sound,
    trailer,
)
from turnlog.edit.package.places import HISTORY
from turnlog.edit.package.redacted import Redaction
from turnlog.edit.package.source import Source, source
from turnlog.edit.package.tar import END, header, padding
from turnlog.entries.spelling import escaped
from turnlog.entries.writer import replace
from turnlog.errors import Changed, TurnlogError, Unreadable, UsageError

_LEVEL = 3
_PIECE = 1 << 20
_ATTEMPTS = 3


class Packed(NamedTuple):
    """A package that was made."""

    path: Path
    size: int
    sha256: str
    """Of the whole package."""
    manifest: Manifest
    left_out: tuple[Path, ...]
    """What is the sessions' and did not go along: links, logs, caches, shell code."""


def pack(paths: Sequence[Path], output: Path, *, redaction: Redaction | None = None, force: bool = False) -> Packed:
    """Make a package of some sessions; a file that is there is replaced only with `force`."""
    if not force and output.exists():
        raise UsageError(f"{output}: is there already; choose another name, or use --force")
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return _packed([contents(path) for path in paths], output, redaction)
        except Changed:  # a client is at work; the next look finds it between two changes
            if attempt == _ATTEMPTS:
                raise
        except OSError as error:
            raise TurnlogError(f"{output}: {error.strerror or error}; no package was made") from error
    raise AssertionError("unreachable")


def _packed(chosen: list[Contents], output: Path, redaction: Redaction | None) -> Packed:
    ids = [item.target.session_id.lower() for item in chosen]
    if twice := next((name for name in ids if ids.count(name) > 1), None):
        raise UsageError(f"two of the sessions have the id {twice}; pack one of them")
    if redaction:
        redaction.learn(chosen)
    with tempfile.TemporaryFile(dir=output.parent) as body:
        files = tuple(_compressed(_members(chosen), body, redaction))
        manifest = Manifest(
            redacted=redaction is not None,
            sessions=tuple(_described(item, redaction) for item in chosen),
            files=files,
        )
        try:
            must_be_sound(manifest)
        except Unreadable as error:
            raise TurnlogError(f"{output}: was not made, because it {error}") from error
        running, sizes = hashlib.sha256(), [0]
        replace(output, _whole(manifest, body, running, sizes), root=output.parent)
    left_out = tuple(path for item in chosen for path in item.left_out)
    return Packed(output, sizes[0], running.hexdigest(), manifest, left_out)


class _Member(NamedTuple):
    """A file on its way into the package."""

    name: str
    session: str
    look: Callable[[], Source | bytes]


def _members(chosen: list[Contents]) -> list[_Member]:
    """All files by name, each once: a plan may be several sessions'."""
    found: dict[str, _Member] = {}
    for item in chosen:
        own = item.target.session_id
        found[item.main_name] = _Member(item.main_name, own, partial(_same, item.main))
        for name, path in item.files.items():
            found.setdefault(name, _Member(name, own, partial(source, path)))
        if item.history:
            name = f"{HISTORY}{own}.jsonl"
            found[name] = _Member(name, own, partial(_same, item.history))
    return [found[name] for name in sorted(found)]


def _same(looked: Source | bytes) -> Source | bytes:
    return looked


def _compressed(members: Iterable[_Member], body: IO[bytes], redaction: Redaction | None) -> Iterator[PackedFile]:
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    with compressor.stream_writer(body, closefd=False) as stream:
        for member in members:
            yield _added(stream, member, redaction)
        stream.write(END)


def _added(stream: zstandard.ZstdCompressionWriter, member: _Member, redaction: Redaction | None) -> PackedFile:
    """Write one file; the hash is of what is written."""
    looked = member.look()
    if redaction is None:
        return _written(stream, member, looked, _size(looked), _pieces(looked))
    with redaction.spooled(member.name, looked) as (size, pieces):
        return _written(stream, member, looked, size, pieces)


def _written(
    stream: zstandard.ZstdCompressionWriter,
    member: _Member,
    looked: Source | bytes,
    size: int,
    pieces: Iterable[bytes],
) -> PackedFile:
    mode, mtime_ns = (0o600, 0) if isinstance(looked, bytes) else (looked.mode, looked.mtime_ns)
    running = hashlib.sha256()
    stream.write(header(member.name, size, mode, mtime_ns // 10**9))
    for piece in pieces:
        running.update(piece)
        stream.write(piece)
    stream.write(padding(size))
    return PackedFile(
        name=member.name,
        session=member.session,
        size=size,
        sha256=running.hexdigest(),
        mtime_ns=mtime_ns,
        mode=mode,
        left_out=0 if isinstance(looked, bytes) else looked.left_out,
    )


def _size(looked: Source | bytes) -> int:
    return len(looked) if isinstance(looked, bytes) else looked.size


def _pieces(looked: Source | bytes) -> Iterator[bytes]:
    return iter([looked]) if isinstance(looked, bytes) else looked.pieces()


def _described(item: Contents, redaction: Redaction | None) -> PackedSession:
    title = item.title if redaction is None or item.title is None else redaction.text(item.title)
    return PackedSession(
        session_id=item.target.session_id,
        title=title,
        project=item.project,
        config_dir=escaped(str(item.config_dir)),
        folder=escaped(item.target.path.parent.name),
        history_lines=item.history_lines,
    )


def _whole(manifest: Manifest, body: IO[bytes], running: hashlib._Hash, sizes: list[int]) -> Iterator[bytes]:
    """The bytes of the package; what they come to is known when the last was taken."""
    data = encoded(manifest)
    first = header(MANIFEST, len(data), 0o644, 0) + data + padding(len(data))
    frame = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(first)
    length = body.seek(0, 2)
    for piece in _joined(frame, body):
        running.update(piece)
        yield piece
    end = trailer(Trailer(len(frame), length, running.digest()))
    running.update(end)
    sizes[0] = len(frame) + length + len(end)
    yield end


def _joined(frame: bytes, body: IO[bytes]) -> Iterator[bytes]:
    yield frame
    body.seek(0)
    while piece := body.read(_PIECE):
        yield piece
