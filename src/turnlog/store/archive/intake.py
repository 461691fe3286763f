"""Adds files to the archive: recognises what is already stored, and cuts what was added into blobs.

Files are cut at multiples of `MAX_BLOB_BYTES`. What follows the last cut grows stretch by stretch; when there are too
many stretches, or the next cut is reached, they are joined. Stretches that are too small for their own blob share one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from turnlog.entries.file_ends import open_regular_file, read_at
from turnlog.errors import Changed
from turnlog.store.archive.blobs import MAX_BLOB_BYTES, Blobs
from turnlog.store.archive.manifest import BlobRef, FileFingerprint, KeptFile

if TYPE_CHECKING:
    from hashlib import _Hash as Hash

_MAX_SMALL_STRETCHES = 8
_NAMELESS_BLOB_PREFIX = "#"
"""The prefix of references to a shared blob that is not full yet."""
_MAX_READ_ATTEMPTS = 4
_SETTLE_TIME_NS = 2_000_000_000
"""A file that changed within the last two seconds may change again without a new timestamp."""


class CutSizes(NamedTuple):
    """The sizes at which files are cut; only tests change the defaults."""

    blob: int = MAX_BLOB_BYTES
    small: int = 16 << 10
    """Stretches smaller than this share a blob."""


class TakenFile(NamedTuple):
    """The current state of a file."""

    file: KeptFile
    is_replaced: bool
    """Whether the file no longer starts with its archived bytes."""


def to_fingerprint(status: os.stat_result) -> FileFingerprint:
    inode, changed = (0, 0) if os.name == "nt" else (status.st_ino, status.st_ctime_ns)
    return FileFingerprint(status.st_size, status.st_mtime_ns, changed, inode)


class FileIntake:
    """Adds the files of one session; call `close` before using their references."""

    def __init__(self, blobs: Blobs, watch: Callable[[str, bytes], None], sizes: CutSizes) -> None:
        self._blobs = blobs
        self._sizes = sizes
        self._watch = watch  # receives new bytes, with the name of the file
        self._shared = bytearray()
        self._names: list[str] = []

    def take_file(self, path: str, name: str, before: KeptFile | None) -> TakenFile:
        """Read the current state of a file; raise `Changed` if it keeps being rewritten while it is being read."""
        for _ in range(_MAX_READ_ATTEMPTS):
            fd, status = open_regular_file(path)
            try:
                taken = self._read_file(fd, status, name, before)
            finally:
                os.close(fd)
            if taken:
                return taken
        raise Changed(f"{path}: rewritten while being read; the next run will archive it")

    def close(self, files: list[KeptFile]) -> list[KeptFile]:
        """Return the files with references to real blobs, all of which are on disk."""
        self._flush_shared()
        self._blobs.sync_folders()
        return [msgspec.structs.replace(file, refs=tuple(map(self._resolve_ref, file.refs))) for file in files]

    def _read_file(self, fd: int, status: os.stat_result, name: str, before: KeptFile | None) -> TakenFile | None:
        """Read the file; return None if it changed in any way other than growing while it was being read."""
        end, running = status.st_size, sha256()
        is_grown = before is not None and before.size <= end and _hash_up_to(fd, running, before.size) == before.digest
        if before is not None and not is_grown:
            running = sha256()
        old = before if is_grown else None
        refs, start = self._split_kept_refs(old, end)
        for at in range(start, end, self._sizes.blob):
            block = read_at(fd, at, min(self._sizes.blob, end - at))
            if len(block) < min(self._sizes.blob, end - at):
                return None
            running.update(block[max((old.size if old else 0) - at, 0) :])
            refs.append(self._store_stretch(block))
            self._watch(name, block)
        digest = running.hexdigest()
        if not _is_same_beginning(fd, status, digest):
            return None
        file = KeptFile(
            path=name,
            size=end,
            mtime_ns=old.mtime_ns if old and old.size == end else status.st_mtime_ns,
            mode=status.st_mode & 0o7777,
            digest=digest,
            refs=tuple(refs),
            seen=to_fingerprint(status) if time.time_ns() - status.st_mtime_ns > _SETTLE_TIME_NS else None,
        )
        return TakenFile(file, before is not None and not is_grown)

    def _split_kept_refs(self, old: KeptFile | None, end: int) -> tuple[list[BlobRef], int]:
        """Return the references to keep, and the offset from which the file is cut again."""
        if old is None or not all(self._blobs.has(ref.blob) for ref in old.refs):
            return [], 0
        if end == old.size:
            return list(old.refs), end
        whole = old.size // self._sizes.blob
        refs = list(old.refs)
        if end >= (whole + 1) * self._sizes.blob:
            del refs[whole:]
        elif len(refs) - whole >= _MAX_SMALL_STRETCHES:
            # The last stretches are joined as long as they are not shorter than the one before, so each byte is stored
            # again only a few times.
            joined = end - old.size
            while len(refs) > whole and refs[-1].size <= 2 * joined:
                joined += refs.pop().size
        return refs, sum(ref.size for ref in refs)

    def _store_stretch(self, data: bytes) -> BlobRef:
        if len(data) >= self._sizes.small:
            return BlobRef(self._blobs.put(data), 0, len(data))
        if len(self._shared) + len(data) > self._sizes.blob:
            self._flush_shared()
        self._shared += data
        return BlobRef(f"{_NAMELESS_BLOB_PREFIX}{len(self._names)}", len(self._shared) - len(data), len(data))

    def _flush_shared(self) -> None:
        self._names.append(self._blobs.put(bytes(self._shared)) if self._shared else "")
        self._shared.clear()

    def _resolve_ref(self, ref: BlobRef) -> BlobRef:
        if not ref.blob.startswith(_NAMELESS_BLOB_PREFIX):
            return ref
        return BlobRef(self._names[int(ref.blob[1:])], ref.start, ref.size)


def _hash_up_to(fd: int, running: Hash, end: int) -> str:
    """Hash a file up to an offset, or up to its end if it is shorter."""
    for at in range(0, end, MAX_BLOB_BYTES):
        running.update(read_at(fd, at, min(MAX_BLOB_BYTES, end - at)))
    return running.hexdigest()


def _is_same_beginning(fd: int, status: os.stat_result, digest: str) -> bool:
    """Return whether the file still starts with the bytes that were read: it may have grown, but not changed."""
    now = os.fstat(fd)
    if to_fingerprint(now) == to_fingerprint(status):
        return True
    return now.st_size >= status.st_size and _hash_up_to(fd, sha256(), status.st_size) == digest
