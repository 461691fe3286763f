"""Rereads everything in the archive to check that it is what was archived."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from turnlog.errors import Unreadable
from turnlog.store.archive.archive import Archive
from turnlog.store.archive.archive_lock import lock_archive
from turnlog.store.archive.manifest import KeptFile, SessionManifest


@dataclass(frozen=True)
class FileDamage:
    """A file in a session that can't be restored."""

    session_id: str
    generation: int
    path: str
    reason: str


@dataclass
class VerifyReport:
    manifests: int = 0
    files: int = 0
    bytes: int = 0
    """How many bytes of files were assembled and hashed again."""
    blobs: int = 0
    unused: int = 0
    """How many blobs no manifest refers to; `prune` deletes them."""
    damaged: list[FileDamage] = field(default_factory=list)
    blobs_damaged: set[str] = field(default_factory=set)
    """Blobs whose content doesn't match their name."""
    manifests_damaged: list[str] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        """True if everything is as it was archived."""
        return not self.damaged and not self.manifests_damaged


def verify_archive(archive: Archive, progress: Callable[[int], None] | None = None) -> VerifyReport:
    """Check every file in every generation; a file that several generations share is read once."""
    report, used = VerifyReport(), set[str]()
    checked: dict[tuple[str, object], str | None] = {}
    for manifest in archive.manifests.iter_manifests():
        if isinstance(manifest, Unreadable):
            report.manifests_damaged.append(str(manifest))
            continue
        report.manifests += 1
        used |= manifest.list_blobs()
        for file in manifest.files:
            if (file.digest, file.refs) not in checked:
                checked[file.digest, file.refs] = _find_damage_reason(archive, file, report)
                report.files += 1
                report.bytes += file.size
            if reason := checked[file.digest, file.refs]:
                report.damaged.append(_build_damage(manifest, file, reason))
        if progress:
            progress(report.manifests)
    stored = archive.blobs.list_names()
    report.blobs, report.unused = len(stored), len(stored - used)
    return report


def put_damaged_blobs_aside(archive: Archive, report: VerifyReport) -> Path:
    """Move damaged blobs out of the archive, so that the next run stores their data again if it is still on disk."""
    folder = archive.folder / "damaged"
    folder.mkdir(parents=True, exist_ok=True)
    with lock_archive(archive.folder):
        for name in report.blobs_damaged:
            if (path := archive.blobs.get_path(name)).exists():
                path.replace(folder / path.name)
    return folder


def _find_damage_reason(archive: Archive, file: KeptFile, report: VerifyReport) -> str | None:
    try:
        for _ in archive.iter_chunks(file):
            pass
    except Unreadable as error:
        bad = {ref.blob for ref in file.refs if _is_blob_damaged(archive, ref.blob)}
        report.blobs_damaged |= {name for name in bad if archive.blobs.has(name)}
        return str(error)
    return None


def _is_blob_damaged(archive: Archive, name: str) -> bool:
    try:
        archive.blobs.get(name)
    except Unreadable:
        return True
    return False


def _build_damage(manifest: SessionManifest, file: KeptFile, reason: str) -> FileDamage:
    return FileDamage(manifest.session_id, manifest.generation, file.path, reason)
