"""Making the archive smaller, without losing what exists nowhere else.

The newest generation of a session is kept, since the next run would archive it again; that of a session which is
gone from disk is its only copy, and is dropped only when that is asked for (`gone`). Older generations are dropped by
number, by age, or until the archive is small enough, the oldest first.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from typing import NamedTuple

from turnlog.entries.layout import is_missing
from turnlog.errors import TurnlogError, Unreadable
from turnlog.store.archive import durable
from turnlog.store.archive.archive import Archive
from turnlog.store.archive.lock import locked
from turnlog.store.archive.manifest import Manifest

_DAY = 86400


class Rules(NamedTuple):
    """What may be dropped."""

    keep: int | None = None
    """At most so many generations of a session."""
    older_ns: int | None = None
    """Generations to which nothing was added since this time."""
    largest: int | None = None
    """The bytes that the archive may have."""
    gone: bool = False
    """Also the last copy of sessions that are gone from disk, where the other rules fit them."""


class Plan(NamedTuple):
    """What would be dropped."""

    drop: list[Manifest]
    blobs: set[str]
    """Blobs that nothing needs then."""
    freed: int
    """The bytes of these blobs."""
    left: int
    """The bytes of the others."""


def plan(archive: Archive, rules: Rules) -> Plan:
    """What the rules would drop; raises if a manifest can't be read, since its blobs can't be told from garbage."""
    manifests = _all(archive)
    sizes = dict(archive.blobs.sizes())
    newest = {manifest.name: manifest.generation for manifest in manifests}  # in the order of their numbers
    total = Counter(manifest.name for manifest in manifests)
    drop, uses = [], Counter(blob for manifest in manifests for blob in manifest.blobs())
    left = sum(size for blob, size in sizes.items() if uses[blob])
    for manifest in sorted(manifests, key=lambda item: item.changed_ns):
        is_last = manifest.generation == newest[manifest.name]
        if is_last and not (rules.gone and is_gone(manifest)):
            continue
        if _fits(manifest, rules, total[manifest.name], is_last, left):
            drop.append(manifest)
            total[manifest.name] -= 1
            for blob in manifest.blobs():
                uses[blob] -= 1
                left -= 0 if uses[blob] else sizes.get(blob, 0)
    blobs = {blob for blob in sizes if not uses[blob]}
    freed = sum(sizes[blob] for blob in blobs)
    return Plan(drop, blobs, freed, sum(sizes.values()) - freed)


def prune(archive: Archive, rules: Rules) -> Plan:
    """Drop what the rules say, manifests before blobs: whoever is killed here leaves garbage, no holes."""
    with locked(archive.folder):
        found = plan(archive, rules)
        for manifest in found.drop:
            archive.manifests.drop(manifest.name, manifest.generation)
        if found.drop:
            durable.sync_folder(archive.manifests.folder)
        for blob in found.blobs:
            archive.blobs.drop(blob)
        archive.blobs.sweep_unfinished()
        durable.sweep_unfinished([archive.manifests.folder, archive.folder])
    return found


def sweep_now_and_then(archive: Archive) -> None:
    """Remove blobs that nothing names, once a day; what grows leaves some behind."""
    mark = archive.folder / "swept"
    with suppress(OSError):
        if 0 <= time.time() - mark.stat().st_mtime < _DAY:
            return
    with suppress(Unreadable):
        prune(archive, Rules())
        mark.touch()


def is_gone(manifest: Manifest) -> bool:
    """Whether the session's own file is no longer on disk."""
    main = manifest.file(manifest.main)
    return main is None or is_missing(manifest.absolute(main))


def _all(archive: Archive) -> list[Manifest]:
    found = []
    for manifest in archive.manifests.all():
        if isinstance(manifest, TurnlogError):
            raise Unreadable(f"{manifest}; nothing was dropped: move that file away first")
        found.append(manifest)
    return found


def _fits(manifest: Manifest, rules: Rules, number: int, is_last: bool, left: int) -> bool:
    too_many = rules.keep is not None and number > rules.keep and not is_last
    too_old = rules.older_ns is not None and manifest.changed_ns < rules.older_ns
    return too_many or too_old or (rules.largest is not None and left > rules.largest)
