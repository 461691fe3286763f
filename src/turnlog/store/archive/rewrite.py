"""Plans an archive whose files have changed content: which blobs and manifests to write, and which blobs to remove.

Blobs are shared, so every file that uses a blob of a changed file is cut anew; otherwise, the old content would stay.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec
import zstandard

from turnlog.errors import Unreadable
from turnlog.store.archive.archive import Archive
from turnlog.store.archive.blobs import MAX_BLOB_BYTES, hash_blob
from turnlog.store.archive.manifest import BlobRef, KeptFile, SessionManifest

ContentChange = Callable[[KeptFile, bytes], bytes]
TextChange = Callable[[str], str]


class ArchiveRewrite(NamedTuple):
    """The files to create, to replace and to remove, all below the archive's folder."""

    created: dict[Path, bytes]
    replaced: dict[Path, bytes]
    removed: list[Path]

    @property
    def is_empty(self) -> bool:
        return not self.replaced


def plan_rewrite(archive: Archive, change: ContentChange, change_text: TextChange) -> ArchiveRewrite:
    """Plan an archive with changed files and titles; the caller must hold the lock until the plan is carried out."""
    manifests = _read_manifests(archive)
    contents = {
        (manifest.name, manifest.generation, file.path): change(file, b"".join(archive.iter_chunks(file)))
        for manifest in manifests
        for file in manifest.files
    }
    tainted = {
        ref.blob
        for manifest in manifests
        for file in manifest.files
        if _is_changed(file, contents[manifest.name, manifest.generation, file.path])
        for ref in file.refs
    }
    blobs: dict[str, bytes] = {}
    rewritten = [
        msgspec.structs.replace(
            manifest,
            title=change_text(manifest.title) if manifest.title else manifest.title,
            files=tuple(
                _cut_anew(file, contents[manifest.name, manifest.generation, file.path], blobs)
                if tainted.intersection(ref.blob for ref in file.refs)
                else file
                for file in manifest.files
            ),
        )
        for manifest in manifests
    ]
    changed = [new for new, old in zip(rewritten, manifests, strict=True) if new != old]
    if not changed:
        return ArchiveRewrite({}, {}, [])
    used = {blob for manifest in rewritten for blob in manifest.list_blobs()}
    packer = zstandard.ZstdCompressor(level=3)
    return ArchiveRewrite(
        {
            archive.blobs.get_path(name): packer.compress(data)
            for name, data in blobs.items()
            if not archive.blobs.has(name)
        },
        {
            archive.manifests.get_path(new.name, new.generation): zstandard.ZstdCompressor(
                level=6, write_checksum=True
            ).compress(msgspec.json.encode(new))
            for new in changed
        },
        sorted(archive.blobs.get_path(name) for name in archive.blobs.list_names() - used),
    )


def _read_manifests(archive: Archive) -> list[SessionManifest]:
    manifests = []
    for manifest in archive.manifests.iter_manifests():
        if isinstance(manifest, Unreadable):
            raise Unreadable(f"{manifest}; `turnlog archive verify --repair` sets it aside, then try again")
        manifests.append(manifest)
    return manifests


def _is_changed(file: KeptFile, data: bytes) -> bool:
    return len(data) != file.size or sha256(data).hexdigest() != file.digest


def _cut_anew(file: KeptFile, data: bytes, blobs: dict[str, bytes]) -> KeptFile:
    pieces = [data[at : at + MAX_BLOB_BYTES] for at in range(0, len(data), MAX_BLOB_BYTES)]
    for piece in pieces:
        blobs[hash_blob(piece)] = piece
    refs = tuple(BlobRef(hash_blob(piece), 0, len(piece)) for piece in pieces)
    return msgspec.structs.replace(file, size=len(data), digest=sha256(data).hexdigest(), refs=refs, seen=None)
