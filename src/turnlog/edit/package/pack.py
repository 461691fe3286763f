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

from turnlog.edit.package.contents import SessionContents, list_session_contents
from turnlog.edit.package.pack_source import PackSource, inspect_source
from turnlog.edit.package.package import (
    HISTORY_NAME_PREFIX,
    MANIFEST_NAME,
    PackageManifest,
    PackageTrailer,
    PackedFile,
    PackedSession,
    check_package_manifest,
    encode_package_manifest,
    encode_trailer,
)
from turnlog.edit.package.package_redaction import PackageRedaction
from turnlog.edit.package.tar_format import TAR_END, build_tar_header, build_tar_padding
from turnlog.entries.atomic_file import replace_file
from turnlog.entries.path_escapes import escape_path
from turnlog.errors import Changed, TurnlogError, Unreadable, UsageError

_COMPRESSION_LEVEL = 3
_PIECE_BYTES = 1 << 20
_MAX_ATTEMPTS = 3


class PackResult(NamedTuple):
    """A package that was made."""

    path: Path
    size: int
    sha256: str
    """Of the whole package."""
    manifest: PackageManifest
    left_out: tuple[Path, ...]
    """What is the sessions' and did not go along: links, logs, caches, shell code."""


def pack_sessions(
    paths: Sequence[Path], output: Path, *, redaction: PackageRedaction | None = None, force: bool = False
) -> PackResult:
    """Make a package of some sessions; a file that is there is replaced only with `force`."""
    if not force and output.exists():
        raise UsageError(f"{output}: is there already; choose another name, or use --force")
    for attempt in range(1, _MAX_ATTEMPTS + 1):
        try:
            return _write_package([list_session_contents(path) for path in paths], output, redaction)
        except Changed:  # a client is at work; the next look finds it between two changes
            if attempt == _MAX_ATTEMPTS:
                raise
        except OSError as error:
            raise TurnlogError(f"{output}: {error.strerror or error}; no package was made") from error
    raise AssertionError("unreachable")


def _write_package(chosen: list[SessionContents], output: Path, redaction: PackageRedaction | None) -> PackResult:
    ids = [item.target.session_id.lower() for item in chosen]
    if twice := next((name for name in ids if ids.count(name) > 1), None):
        raise UsageError(f"two of the sessions have the id {twice}; pack one of them")
    if redaction:
        redaction.learn_secrets(chosen)
    with tempfile.TemporaryFile(dir=output.parent) as body:
        files = tuple(_compress_members(_list_members(chosen), body, redaction))
        manifest = PackageManifest(
            redacted=redaction is not None,
            sessions=tuple(_describe_session(item, redaction) for item in chosen),
            files=files,
        )
        try:
            check_package_manifest(manifest)
        except Unreadable as error:
            raise TurnlogError(f"{output}: was not made, because it {error}") from error
        running, sizes = hashlib.sha256(), [0]
        replace_file(output, _iterate_package(manifest, body, running, sizes), root=output.parent)
    left_out = tuple(path for item in chosen for path in item.left_out)
    return PackResult(output, sizes[0], running.hexdigest(), manifest, left_out)


class _PackMember(NamedTuple):
    """A file on its way into the package."""

    name: str
    session: str
    look: Callable[[], PackSource | bytes]


def _list_members(chosen: list[SessionContents]) -> list[_PackMember]:
    """All files by name, each once: a plan may be several sessions'."""
    found: dict[str, _PackMember] = {}
    for item in chosen:
        own = item.target.session_id
        found[item.main_name] = _PackMember(item.main_name, own, partial(_return_same, item.main))
        for name, path in item.files.items():
            found.setdefault(name, _PackMember(name, own, partial(inspect_source, path)))
        if item.history:
            name = f"{HISTORY_NAME_PREFIX}{own}.jsonl"
            found[name] = _PackMember(name, own, partial(_return_same, item.history))
    return [found[name] for name in sorted(found)]


def _return_same(looked: PackSource | bytes) -> PackSource | bytes:
    return looked


def _compress_members(
    members: Iterable[_PackMember], body: IO[bytes], redaction: PackageRedaction | None
) -> Iterator[PackedFile]:
    compressor = zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL, write_checksum=True)
    with compressor.stream_writer(body, closefd=False) as stream:
        for member in members:
            yield _add_member(stream, member, redaction)
        stream.write(TAR_END)


def _add_member(
    stream: zstandard.ZstdCompressionWriter, member: _PackMember, redaction: PackageRedaction | None
) -> PackedFile:
    """Write one file; the hash is of what is written."""
    looked = member.look()
    if redaction is None:
        return _write_member(stream, member, looked, _get_size(looked), _read_pieces(looked))
    with redaction.spool_redacted(member.name, looked) as (size, pieces):
        return _write_member(stream, member, looked, size, pieces)


def _write_member(
    stream: zstandard.ZstdCompressionWriter,
    member: _PackMember,
    looked: PackSource | bytes,
    size: int,
    pieces: Iterable[bytes],
) -> PackedFile:
    mode, mtime_ns = (0o600, 0) if isinstance(looked, bytes) else (looked.mode, looked.mtime_ns)
    running = hashlib.sha256()
    stream.write(build_tar_header(member.name, size, mode, mtime_ns // 10**9))
    for piece in pieces:
        running.update(piece)
        stream.write(piece)
    stream.write(build_tar_padding(size))
    return PackedFile(
        name=member.name,
        session=member.session,
        size=size,
        sha256=running.hexdigest(),
        mtime_ns=mtime_ns,
        mode=mode,
        left_out=0 if isinstance(looked, bytes) else looked.left_out,
    )


def _get_size(looked: PackSource | bytes) -> int:
    return len(looked) if isinstance(looked, bytes) else looked.size


def _read_pieces(looked: PackSource | bytes) -> Iterator[bytes]:
    return iter([looked]) if isinstance(looked, bytes) else looked.read_pieces()


def _describe_session(item: SessionContents, redaction: PackageRedaction | None) -> PackedSession:
    title = item.title if redaction is None or item.title is None else redaction.redact_text(item.title)
    return PackedSession(
        session_id=item.target.session_id,
        title=title,
        project=item.project,
        config_dir=escape_path(str(item.config_dir)),
        folder=escape_path(item.target.path.parent.name),
        history_lines=item.history_lines,
    )


def _iterate_package(
    manifest: PackageManifest, body: IO[bytes], running: hashlib._Hash, sizes: list[int]
) -> Iterator[bytes]:
    """The bytes of the package; what they come to is known when the last was taken."""
    data = encode_package_manifest(manifest)
    first = build_tar_header(MANIFEST_NAME, len(data), 0o644, 0) + data + build_tar_padding(len(data))
    frame = zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL, write_checksum=True).compress(first)
    length = body.seek(0, 2)
    for piece in _read_frame_and_body(frame, body):
        running.update(piece)
        yield piece
    end = encode_trailer(PackageTrailer(len(frame), length, running.digest()))
    running.update(end)
    sizes[0] = len(frame) + length + len(end)
    yield end


def _read_frame_and_body(frame: bytes, body: IO[bytes]) -> Iterator[bytes]:
    yield frame
    body.seek(0)
    while piece := body.read(_PIECE_BYTES):
        yield piece
