"""Reading a package that may come from a stranger: nothing is believed, and nothing more is read than it declares.

A file counts as read when its header, its bytes and its hash are exactly those of the manifest; there is no other order
and nothing in between. So links, devices and second copies can't be in it, and no more can come out of it than the
manifest says.
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
    LONGEST_MANIFEST,
    MANIFEST,
    TRAILER_SIZE,
    Manifest,
    PackedFile,
    Trailer,
    decoded,
    read_trailer,
)
from turnlog.edit.package.tar import BLOCK, END, declared_size, header, padding
from turnlog.entries.window import open_regular
from turnlog.errors import Unreadable

_PIECE = 1 << 20
_WINDOW = 128 << 20
"""How much memory unpacking may ask for; a stranger's file could ask for gigabytes."""


class Member(NamedTuple):
    """A file of a package, about to be read."""

    file: PackedFile
    pieces: Iterator[bytes]
    """Its bytes; raises behind the last one if they are not those that were packed. To be read to the end."""


class Package:
    """An open package; what it says of itself was read, its files were not."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._told():
            fd, status = open_regular(path)
            self._file = os.fdopen(fd, "rb")
            self.size = status.st_size
            try:
                self._trailer = self._read_trailer()
                self.manifest = self._read_manifest()
            except BaseException:
                self._file.close()
                raise

    def __enter__(self) -> Package:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def verify(self) -> str:
        """Read everything and compare it with its checksums; gives the SHA-256 of the whole file."""
        whole = self._hashed()
        for member in self.members():
            for _ in member.pieces:
                pass
        return whole

    def members(self) -> Iterator[Member]:
        """The files in their order; each must be read before the next one."""
        with self._told():
            self._file.seek(self._trailer.manifest)
            stream = _stream(_Part(self._file, self._trailer.files))
            for file in self.manifest.files:
                self._expect(stream, header(file.name, file.size, file.mode, file.mtime_ns // 10**9), file.name)
                yield Member(file, self._pieces(stream, file))
            self._expect(stream, END, "its end")
            if stream.read(1):
                raise Unreadable("holds more than its manifest says")

    def _pieces(self, stream: IO[bytes], file: PackedFile) -> Iterator[bytes]:
        running, left = sha256(), file.size
        with self._told():
            while left:
                piece = stream.read(min(_PIECE, left))
                if not piece:
                    raise Unreadable(f"damaged: {file.name!r} ends too early")
                running.update(piece)
                left -= len(piece)
                yield piece
            self._expect(stream, padding(file.size), file.name)
            if running.hexdigest() != file.sha256:
                raise Unreadable(f"damaged: {file.name!r} has another hash than when it was packed")

    def _expect(self, stream: IO[bytes], data: bytes, name: str) -> None:
        if _exactly(stream, len(data)) != data:
            raise Unreadable(f"damaged, or not packed by turnlog: something else stands in the place of {name!r}")

    def _read_trailer(self) -> Trailer:
        self._file.seek(max(self.size - TRAILER_SIZE, 0))
        return read_trailer(self._file.read(TRAILER_SIZE), self.size)

    def _read_manifest(self) -> Manifest:
        self._file.seek(0)
        stream = _stream(_Part(self._file, self._trailer.manifest))
        size = declared_size(_exactly(stream, BLOCK), MANIFEST)
        if size > LONGEST_MANIFEST:
            raise Unreadable("damaged: its manifest is too long")
        data = _exactly(stream, size)
        if len(data) < size or _exactly(stream, BLOCK) != padding(size):
            raise Unreadable("damaged: its manifest is not whole")
        return decoded(data)

    def _hashed(self) -> str:
        """The hash of the whole file, of which the trailer tells that of all before it."""
        running, left = sha256(), self.size - TRAILER_SIZE
        with self._told():
            self._file.seek(0)
            while left and (piece := self._file.read(min(_PIECE, left))):
                running.update(piece)
                left -= len(piece)
            if running.digest() != self._trailer.sha256:
                raise Unreadable("damaged: its checksum is another")
            running.update(self._file.read(TRAILER_SIZE))
        return running.hexdigest()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Tell every failure as one of this file."""
        try:
            yield
        except zstandard.ZstdError as error:
            raise Unreadable(f"{self.path}: damaged ({error})") from error
        except MemoryError as error:
            raise Unreadable(f"{self.path}: asks for more memory than there is") from error
        except Unreadable as error:
            words = str(error)
            raise Unreadable(words if words.startswith(f"{self.path}: ") else f"{self.path}: {words}") from error
        except OSError as error:
            raise Unreadable(f"{self.path}: {error.strerror or error}") from error


class _Part:
    """A stretch of a file as a file of its own."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self._left = size

    def read(self, size: int = -1) -> bytes:
        wanted = self._left if size < 0 else min(size, self._left)
        data = self._file.read(wanted)
        self._left -= len(data)
        return data


def _stream(part: _Part) -> IO[bytes]:
    unpacker = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    return unpacker.stream_reader(part, closefd=False)  # type: ignore[arg-type] # it only reads


def _exactly(stream: IO[bytes], size: int) -> bytes:
    """So many bytes; fewer only at the end."""
    parts = []
    while size and (part := stream.read(min(size, _PIECE))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
