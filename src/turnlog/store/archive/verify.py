"""Reading everything in the archive again, to see that it is what was put in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from turnlog.errors import Unreadable
from turnlog.store.archive.archive import Archive
from turnlog.store.archive.lock import locked
from turnlog.store.archive.manifest import KeptFile, Manifest


@dataclass(frozen=True)
class Damage:
    """A file of a session that can't be restored."""

    session_id: str
    generation: int
    path: str
    reason: str


@dataclass
class Verified:
    """What was found."""

    manifests: int = 0
    files: int = 0
    bytes: int = 0
    """Bytes of files that were put together and hashed again."""
    blobs: int = 0
    unused: int = 0
    """Blobs that no manifest names; `prune` removes them."""
    damaged: list[Damage] = field(default_factory=list)
    blobs_damaged: set[str] = field(default_factory=set)
    """Blobs that are there and not what their names say."""
    manifests_damaged: list[str] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        """Whether everything is as it was archived."""
        return not self.damaged and not self.manifests_damaged


def verify(archive: Archive, progress: Callable[[int], None] | None = None) -> Verified:
    """Read every file of every generation; one that several generations share is read once."""
    found, used = Verified(), set[str]()
    proved: dict[tuple[str, object], str | None] = {}
    for manifest in archive.manifests.all():
        if isinstance(manifest, Unreadable):
            found.manifests_damaged.append(str(manifest))
            continue
        found.manifests += 1
        used |= manifest.blobs()
        for file in manifest.files:
            if (file.digest, file.refs) not in proved:
                proved[file.digest, file.refs] = _reason(archive, file, found)
                found.files += 1
                found.bytes += file.size
            if reason := proved[file.digest, file.refs]:
                found.damaged.append(_damage(manifest, file, reason))
        if progress:
            progress(found.manifests)
    there = archive.blobs.names()
    found.blobs, found.unused = len(there), len(there - used)
    return found


def put_aside(archive: Archive, found: Verified) -> Path:
    """Move damaged blobs out of the archive, so that the next run archives anew what is still on disk."""
    folder = archive.folder / "damaged"
    folder.mkdir(parents=True, exist_ok=True)
    with locked(archive.folder):
        for name in found.blobs_damaged:
            if (path := archive.blobs.path(name)).exists():
                path.replace(folder / path.name)
    return folder


def _reason(archive: Archive, file: KeptFile, found: Verified) -> str | None:
    try:
        for _ in archive.chunks(file):
            pass
    except Unreadable as error:
        bad = {ref.blob for ref in file.refs if _is_damaged(archive, ref.blob)}
        found.blobs_damaged |= {name for name in bad if archive.blobs.has(name)}
        return str(error)
    return None


def _is_damaged(archive: Archive, name: str) -> bool:
    try:
        archive.blobs.get(name)
    except Unreadable:
        return True
    return False


def _damage(manifest: Manifest, file: KeptFile, reason: str) -> Damage:
    return Damage(manifest.session_id, manifest.generation, file.path, reason)
