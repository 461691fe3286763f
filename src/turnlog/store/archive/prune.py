"""Makes the archive smaller, without losing anything that exists nowhere else.

The newest generation of a session is kept, since the next run would archive it again; if the session was deleted from
disk, its newest generation is the only copy and is dropped only on request (`gone`). Older generations are dropped by
number, by age, or until the archive is small enough, the oldest first.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from typing import NamedTuple

from turnlog.entries.layout import is_missing
from turnlog.errors import TurnlogError, Unreadable
from turnlog.store.archive import durable_write
from turnlog.store.archive.archive import Archive
from turnlog.store.archive.archive_lock import lock_archive
from turnlog.store.archive.manifest import SessionManifest

_DAY_SECONDS = 86400


class PruneRules(NamedTuple):
    """Which generations may be dropped."""

    keep: int | None = None
    """How many generations of a session to keep."""
    older_ns: int | None = None
    """Drop generations that have not grown since this time."""
    largest: int | None = None
    """How many bytes the archive may take."""
    gone: bool = False
    """Whether to also drop the last copy of sessions that were deleted from disk, if another rule applies."""


class PrunePlan(NamedTuple):
    """The generations and blobs to drop."""

    drop: list[SessionManifest]
    blobs: set[str]
    """Blobs that nothing needs afterwards."""
    freed: int
    """The size of these blobs in bytes."""
    left: int
    """The size of the other blobs in bytes."""


def plan_prune(archive: Archive, rules: PruneRules) -> PrunePlan:
    """Plan what to drop; raise an error if a manifest is unreadable, because its blobs would look unused."""
    manifests = _read_all_manifests(archive)
    sizes = dict(archive.blobs.iter_sizes())
    newest = {manifest.name: manifest.generation for manifest in manifests}  # ordered by number
    total = Counter(manifest.name for manifest in manifests)
    drop, uses = [], Counter(blob for manifest in manifests for blob in manifest.list_blobs())
    left = sum(size for blob, size in sizes.items() if uses[blob])
    for manifest in sorted(manifests, key=lambda item: item.changed_ns):
        is_last = manifest.generation == newest[manifest.name]
        if is_last and not (rules.gone and is_session_gone(manifest)):
            continue
        if _is_droppable(manifest, rules, total[manifest.name], is_last, left):
            drop.append(manifest)
            total[manifest.name] -= 1
            for blob in manifest.list_blobs():
                uses[blob] -= 1
                left -= 0 if uses[blob] else sizes.get(blob, 0)
    blobs = {blob for blob in sizes if not uses[blob]}
    freed = sum(sizes[blob] for blob in blobs)
    return PrunePlan(drop, blobs, freed, sum(sizes.values()) - freed)


def prune_archive(archive: Archive, rules: PruneRules) -> PrunePlan:
    """Drop what the rules select, manifests before blobs: an interruption leaves unused blobs, but no missing ones."""
    with lock_archive(archive.folder):
        plan = plan_prune(archive, rules)
        for manifest in plan.drop:
            archive.manifests.drop(manifest.name, manifest.generation)
        if plan.drop:
            durable_write.sync_folder(archive.manifests.folder)
        for blob in plan.blobs:
            archive.blobs.drop(blob)
        archive.blobs.sweep_temporary_files()
        durable_write.sweep_temporary_files([archive.manifests.folder, archive.folder])
    return plan


def sweep_unused_blobs(archive: Archive) -> None:
    """Once a day, delete unused blobs, which growing files leave behind."""
    mark = archive.folder / "swept"
    with suppress(OSError):
        if 0 <= time.time() - mark.stat().st_mtime < _DAY_SECONDS:
            return
    with suppress(Unreadable):
        prune_archive(archive, PruneRules())
        mark.touch()


def is_session_gone(manifest: SessionManifest) -> bool:
    """Return whether the session's own file is no longer on disk."""
    main = manifest.find_file(manifest.main)
    return main is None or is_missing(manifest.to_absolute_path(main))


def _read_all_manifests(archive: Archive) -> list[SessionManifest]:
    manifests = []
    for manifest in archive.manifests.iter_manifests():
        if isinstance(manifest, TurnlogError):
            raise Unreadable(f"{manifest}, so nothing was removed; move this file aside first")
        manifests.append(manifest)
    return manifests


def _is_droppable(manifest: SessionManifest, rules: PruneRules, number: int, is_last: bool, left: int) -> bool:
    too_many = rules.keep is not None and number > rules.keep and not is_last
    too_old = rules.older_ns is not None and manifest.changed_ns < rules.older_ns
    return too_many or too_old or (rules.largest is not None and left > rules.largest)
