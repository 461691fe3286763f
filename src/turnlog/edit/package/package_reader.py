"""Reads an untrusted package, and never reads more than its manifest declares.

A file is accepted only if its header, bytes and hash match the manifest exactly, in the same order, with nothing in
between. A package therefore can't contain links, devices or duplicates, and can't unpack to more than the manifest
declares.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import IO, NamedTuple

import zstandard

from turnlog.edit.package.package import (
    MANIFEST_NAME,
    MAX_MANIFEST_BYTES,
    TRAILER_BYTES,
    PackageManifest,
    PackageTrailer,
    PackedFile,
    decode_package_manifest,
    read_trailer,
)
from turnlog.edit.package.tar_format import (
    TAR_BLOCK_BYTES,
    TAR_END,
    build_tar_header,
    build_tar_padding,
    read_declared_size,
)
from turnlog.entries.file_ends import open_regular_file
from turnlog.errors import Unreadable
from turnlog.work_progress import report_chunks

_PIECE_BYTES = 1 << 20
_MAX_COMPRESSION_RATIO = 1000
"""Genuine sessions are compressed to a fifth to a fiftieth; copies of one session in a package, to less."""
_MAX_UNCHECKED_BYTES = 64 << 20
_MAX_WINDOW_BYTES = 128 << 20
"""How much memory decompression may use; a malicious file could require gigabytes."""


class PackageMember(NamedTuple):
    """A file of a package that is about to be read."""

    file: PackedFile
    pieces: Iterator[bytes]
    """The file's bytes, to be read to the end; raises an error at the end if they differ from what was packed."""


class Package:
    """An open package; its manifest has been read, but its files have not."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._name_file_in_errors():
            fd, status = open_regular_file(path)
            self._file = os.fdopen(fd, "rb")
            self.size = status.st_size
            try:
                self._trailer = self._read_trailer()
                self.manifest = self._read_manifest()
                self._refuse_bomb()
            except BaseException:
                self._file.close()
                raise

    def __enter__(self) -> Package:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def verify(self) -> str:
        """Read everything and compare it with the checksums; return the SHA-256 of the whole file."""
        whole = self._hash_file()
        for member in self.iterate_members():
            for _ in member.pieces:
                pass
        return whole

    def iterate_members(self) -> Iterator[PackageMember]:
        """Yield the files in order; each must be read before the next one is requested."""
        with self._name_file_in_errors():
            self._file.seek(self._trailer.manifest)
            stream = _open_stream(_FileStretch(self._file, self._trailer.files))
            for file in self.manifest.files:
                self._expect_bytes(
                    stream, build_tar_header(file.name, file.size, file.mode, file.mtime_ns // 10**9), file.name
                )
                yield PackageMember(file, iter(report_chunks("unpacking", self._read_pieces(stream, file), file.size)))
            self._expect_bytes(stream, TAR_END, "its end")
            if stream.read(1):
                raise Unreadable("more content than the manifest declares")

    def _read_pieces(self, stream: IO[bytes], file: PackedFile) -> Iterator[bytes]:
        running, left = sha256(), file.size
        with self._name_file_in_errors():
            while left:
                piece = stream.read(min(_PIECE_BYTES, left))
                if not piece:
                    raise Unreadable(f"damaged: {file.name!r} ends too early")
                running.update(piece)
                left -= len(piece)
                yield piece
            self._expect_bytes(stream, build_tar_padding(file.size), file.name)
            if running.hexdigest() != file.sha256:
                raise Unreadable(f"damaged: the hash of {file.name!r} does not match the manifest")

    def _expect_bytes(self, stream: IO[bytes], data: bytes, name: str) -> None:
        if _read_exactly(stream, len(data)) != data:
            raise Unreadable(f"damaged, or not packed by turnlog: unexpected content in place of {name!r}")

    def _read_trailer(self) -> PackageTrailer:
        self._file.seek(max(self.size - TRAILER_BYTES, 0))
        return read_trailer(self._file.read(TRAILER_BYTES), self.size)

    def _read_manifest(self) -> PackageManifest:
        self._file.seek(0)
        stream = _open_stream(_FileStretch(self._file, self._trailer.manifest))
        size = read_declared_size(_read_exactly(stream, TAR_BLOCK_BYTES), MANIFEST_NAME)
        if size > MAX_MANIFEST_BYTES:
            raise Unreadable("damaged: its manifest is too long")
        data = _read_exactly(stream, size)
        if len(data) < size or _read_exactly(stream, TAR_BLOCK_BYTES) != build_tar_padding(size):
            raise Unreadable("damaged: its manifest is incomplete")
        return decode_package_manifest(data)

    def _refuse_bomb(self) -> None:
        """Refuse a package that claims to hold more than sessions can be compressed to, before anything is written."""
        declared = sum(file.size for file in self.manifest.files)
        if declared > max(self.size * _MAX_COMPRESSION_RATIO, _MAX_UNCHECKED_BYTES):
            raise Unreadable(
                f"it claims to contain {declared:,} bytes in {self.size:,}, which no package of sessions does; nothing"
                " was written"
            )

    def _hash_file(self) -> str:
        """Return the hash of the whole file; the trailer contains the hash of everything before it."""
        running, left = sha256(), self.size - TRAILER_BYTES
        with self._name_file_in_errors():
            self._file.seek(0)
            while left and (piece := self._file.read(min(_PIECE_BYTES, left))):
                running.update(piece)
                left -= len(piece)
            if running.digest() != self._trailer.sha256:
                raise Unreadable("damaged: its checksum is wrong")
            running.update(self._file.read(TRAILER_BYTES))
        return running.hexdigest()

    @contextlib.contextmanager
    def _name_file_in_errors(self) -> Iterator[None]:
        """Put the name of this file before every error."""
        try:
            yield
        except zstandard.ZstdError as error:
            raise Unreadable(f"{self.path}: damaged ({error})") from error
        except MemoryError as error:
            raise Unreadable(f"{self.path}: not enough memory to read this package") from error
        except Unreadable as error:
            message = str(error)
            raise Unreadable(message if message.startswith(f"{self.path}: ") else f"{self.path}: {message}") from error
        except OSError as error:
            raise Unreadable(f"{self.path}: {error.strerror or error}") from error


class _FileStretch:
    """A section of a file that can be read like a separate file."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self._left = size

    def read(self, size: int = -1) -> bytes:
        wanted = self._left if size < 0 else min(size, self._left)
        data = self._file.read(wanted)
        self._left -= len(data)
        return data


def _open_stream(part: _FileStretch) -> IO[bytes]:
    unpacker = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES)
    return unpacker.stream_reader(part, closefd=False)  # type: ignore[arg-type] # it only reads


def _read_exactly(stream: IO[bytes], size: int) -> bytes:
    """Read `size` bytes; return fewer only at the end of the file."""
    parts = []
    while size and (part := stream.read(min(size, _PIECE_BYTES))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
