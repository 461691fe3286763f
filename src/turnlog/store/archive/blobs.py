"""Blobs: bytes that are kept once, compressed, under the name of their content.

A blob holds at most `BLOB` bytes. Its name is the SHA-256 of them, so `zstd -dc` and `sha256sum` are all that is
needed to read and to prove it.
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
    """The name of some bytes."""
    return sha256(data).hexdigest()


class Blobs:
    """The folder of blobs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stored = 0
        """Bytes that were written to disk by this object."""
        self._fresh: set[Path] = set()
        self._compressor = zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL)
        self._decompressor = zstandard.ZstdDecompressor()
        self._cache: OrderedDict[str, bytes] = OrderedDict()

    def get_path(self, name: str) -> Path:
        """Where a blob lies."""
        return self.folder / name[:2] / f"{name}.zst"

    def put(self, data: bytes) -> str:
        """Keep some bytes, unless they are there; `settle` makes sure of it."""
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
        """Have the names of all blobs that were put on disk."""
        for folder in self._fresh:
            durable_write.sync_folder(folder)
        self._fresh.clear()

    def get(self, name: str) -> bytes:
        """The bytes of a blob, proved by its name; `Unreadable` if they are damaged or gone."""
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
            # The header says how much it will be: what is damaged must not ask for all memory.
            if not 0 <= zstandard.frame_content_size(packed) <= MAX_BLOB_BYTES:
                raise Unreadable(f"{path}: damaged (not a blob of an archive)")
            data = self._decompressor.decompress(packed)
        except FileNotFoundError:
            raise Unreadable(f"{path}: missing; a blob of the archive is gone") from None
        except zstandard.ZstdError as error:
            raise Unreadable(f"{path}: damaged ({error})") from error
        except OSError as error:
            raise Unreadable(f"{path}: {error.strerror}") from error
        if hash_blob(data) != name:
            raise Unreadable(f"{path}: damaged (its content has another hash)")
        return data

    def has(self, name: str) -> bool:
        """Whether a blob is there."""
        return self.get_path(name).exists()

    def iter_sizes(self) -> Iterator[tuple[str, int]]:
        """The names of all blobs, and the bytes they take on disk."""
        for folder in self._list_folders():
            for item in list_folder(folder):
                if found := _BLOB_FILE_NAME.fullmatch(item.name):
                    yield found[1], item.stat().st_size

    def list_names(self) -> set[str]:
        """The names of all blobs."""
        found = (
            _BLOB_FILE_NAME.fullmatch(item.name) for folder in self._list_folders() for item in list_folder(folder)
        )
        return {name[1] for name in found if name}

    def drop(self, name: str) -> None:
        """Remove a blob."""
        self._cache.pop(name, None)
        self.get_path(name).unlink(missing_ok=True)

    def sweep_temporary_files(self) -> None:
        """Remove what killed processes left; for who holds the lock."""
        durable_write.sweep_temporary_files(self._list_folders())

    def _list_folders(self) -> list[Path]:
        return sorted(Path(item.path) for item in list_folder(self.folder) if item.is_dir())
