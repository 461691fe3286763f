"""Blobs: bytes that are stored once, compressed, and named by their content.

A blob contains at most `MAX_BLOB_BYTES` bytes. Its name is the SHA-256 of these bytes, so `zstd -dc` and `sha256sum`
are enough to read and check it.
"""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import zstandard

from turnlog.entries.layout import list_folder
from turnlog.errors import Unreadable
from turnlog.store.archive import durable_write

MAX_BLOB_BYTES = 4 << 20
_COMPRESSION_LEVEL = 3
_MAX_CACHED_BLOBS = 8
_BLOB_FILE_NAME = re.compile("([0-9a-f]{64})\\.zst")


def hash_blob(data: bytes) -> str:
    """Return the name of the blob that contains these bytes."""
    return sha256(data).hexdigest()


class Blobs:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stored = 0
        """How many bytes this object has written to disk."""
        self._fresh: set[Path] = set()
        self._compressor = zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL)
        self._decompressor = zstandard.ZstdDecompressor()
        self._cache: OrderedDict[str, bytes] = OrderedDict()

    def get_path(self, name: str) -> Path:
        return self.folder / name[:2] / f"{name}.zst"

    def put(self, data: bytes) -> str:
        """Store bytes unless the archive already has them; they are durable after `sync_folders`."""
        name = hash_blob(data)
        path = self.get_path(name)
        if not path.parent.exists():
            self._fresh.add(self.folder)
        self._fresh.add(path.parent)
        if not path.exists():
            packed = self._compressor.compress(data)
            with durable_write.open_temporary_file(path.parent) as (temporary, fd):
                durable_write.write_all_bytes(fd, packed)
                os.fsync(fd)
                os.close(fd)
                temporary.replace(path)
            self.stored += len(packed)
        return name

    def sync_folders(self) -> None:
        """Make the names of all new blobs durable."""
        for folder in self._fresh:
            durable_write.sync_folder(folder)
        self._fresh.clear()

    def get(self, name: str) -> bytes:
        """Read and check a blob; raise `Unreadable` if it is damaged or missing."""
        if name in self._cache:
            self._cache.move_to_end(name)
            return self._cache[name]
        data = self._read_blob(name)
        self._cache[name] = data
        if len(self._cache) > _MAX_CACHED_BLOBS:
            self._cache.popitem(last=False)
        return data

    def _read_blob(self, name: str) -> bytes:
        path = self.get_path(name)
        try:
            packed = path.read_bytes()
            # The header states the size, and a damaged one must not make us allocate all memory.
            if not 0 <= zstandard.frame_content_size(packed) <= MAX_BLOB_BYTES:
                raise Unreadable(f"{path}: damaged (not an archive blob)")
            data = self._decompressor.decompress(packed)
        except FileNotFoundError:
            raise Unreadable(f"{path}: this blob is missing from the archive") from None
        except zstandard.ZstdError as error:
            raise Unreadable(f"{path}: damaged ({error})") from error
        except OSError as error:
            raise Unreadable(f"{path}: {error.strerror}") from error
        if hash_blob(data) != name:
            raise Unreadable(f"{path}: damaged (its content does not match its hash)")
        return data

    def has(self, name: str) -> bool:
        return self.get_path(name).exists()

    def iter_sizes(self) -> Iterator[tuple[str, int]]:
        """Yield the name of each blob and the number of bytes that it takes on disk."""
        for folder in self._list_folders():
            for item in list_folder(folder):
                if match := _BLOB_FILE_NAME.fullmatch(item.name):
                    yield match[1], item.stat().st_size

    def list_names(self) -> set[str]:
        matches = (
            _BLOB_FILE_NAME.fullmatch(item.name) for folder in self._list_folders() for item in list_folder(folder)
        )
        return {match[1] for match in matches if match}

    def drop(self, name: str) -> None:
        self._cache.pop(name, None)
        self.get_path(name).unlink(missing_ok=True)

    def sweep_temporary_files(self) -> None:
        """Delete temporary files that killed processes left behind; the caller must hold the lock."""
        durable_write.sweep_temporary_files(self._list_folders())

    def _list_folders(self) -> list[Path]:
        return sorted(Path(item.path) for item in list_folder(self.folder) if item.is_dir())
