"""Packs sessions into one file, with everything that belongs to them.

Every byte of a session is read once. The files are compressed into an unnamed temporary file, because the manifest that
precedes them can be written only afterwards; the package appears under its name when it is complete.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
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
from turnlog.entries.agents import list_folders_once
from turnlog.entries.atomic_file import replace_file
from turnlog.entries.path_escapes import escape_path
from turnlog.errors import Changed, TurnlogError, Unreadable, UsageError
from turnlog.work_progress import report_chunks

_COMPRESSION_LEVEL = 3
_PIECE_BYTES = 1 << 20
_MAX_ATTEMPTS = 3


class PackResult(NamedTuple):
    """A finished package."""

    path: Path
    size: int
    sha256: str
    """The hash of the whole package."""
    manifest: PackageManifest
    left_out: tuple[Path, ...]
    """Files of the sessions that were not packed: links, logs, caches and shell code."""


def pack_sessions(
    paths: Sequence[Path], output: Path, *, redaction: PackageRedaction | None = None, force: bool = False
) -> PackResult:
    """Pack some sessions; replace an existing file only with `force`."""
    if not force and output.exists():
        raise UsageError(f"{output}: the file already exists; choose a different name, or use --force")
    for attempt in range(1, _MAX_ATTEMPTS + 1):
        try:
            with list_folders_once():
                chosen = [list_session_contents(path) for path in paths]
            return _write_package(chosen, output, redaction)
        except Changed:  # a client is writing; the next attempt may fall between two changes
            if attempt == _MAX_ATTEMPTS:
                raise
        except OSError as error:
            raise TurnlogError(f"{output}: {error.strerror or error}; no package was written") from error
    raise AssertionError("unreachable")


def _write_package(chosen: list[SessionContents], output: Path, redaction: PackageRedaction | None) -> PackResult:
    counts = Counter(item.target.session_id.lower() for item in chosen)
    if duplicate := next((name for name, count in counts.items() if count > 1), None):
        raise UsageError(f"two of the sessions have the id {duplicate}; pack only one of them")
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
            raise TurnlogError(f"{output}: not written: {error}") from error
        running, sizes = hashlib.sha256(), [0]
        replace_file(output, _iterate_package(manifest, body, running, sizes), root=output.parent)
    left_out = tuple(path for item in chosen for path in item.left_out)
    return PackResult(output, sizes[0], running.hexdigest(), manifest, left_out)


class _PackMember(NamedTuple):
    name: str
    session: str
    open_source: Callable[[], PackSource | bytes]


def _list_members(chosen: list[SessionContents]) -> list[_PackMember]:
    """List all files by name, without duplicates, because a plan may belong to several sessions."""
    members: dict[str, _PackMember] = {}
    for item in chosen:
        own = item.target.session_id
        members[item.main_name] = _PackMember(item.main_name, own, partial(_return_same, item.main))
        for name, path in item.files.items():
            members.setdefault(name, _PackMember(name, own, partial(inspect_source, path)))
        if item.history:
            name = f"{HISTORY_NAME_PREFIX}{own}.jsonl"
            members[name] = _PackMember(name, own, partial(_return_same, item.history))
    return [members[name] for name in sorted(members)]


def _return_same(source: PackSource | bytes) -> PackSource | bytes:
    return source


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
    """Write one file, and record the hash of the written bytes."""
    source = member.open_source()
    if redaction is None:
        return _write_member(stream, member, source, _get_size(source), _read_pieces(source))
    with redaction.spool_redacted(member.name, source) as (size, pieces):
        named = member._replace(name=redaction.redact_name(member.name))
        return _write_member(stream, named, source, size, pieces)


def _write_member(
    stream: zstandard.ZstdCompressionWriter,
    member: _PackMember,
    source: PackSource | bytes,
    size: int,
    pieces: Iterable[bytes],
) -> PackedFile:
    mode, mtime_ns = (0o600, 0) if isinstance(source, bytes) else (source.mode, source.mtime_ns)
    running = hashlib.sha256()
    stream.write(build_tar_header(member.name, size, mode, mtime_ns // 10**9))
    for piece in report_chunks("packing", pieces, size):
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
        left_out=0 if isinstance(source, bytes) else source.left_out,
    )


def _get_size(source: PackSource | bytes) -> int:
    return len(source) if isinstance(source, bytes) else source.size


def _read_pieces(source: PackSource | bytes) -> Iterator[bytes]:
    return iter([source]) if isinstance(source, bytes) else source.read_pieces()


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
    """Yield the bytes of the package; `running` and `sizes` are complete only after the last byte."""
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
