"""Keeps a lake in shape: joins small parts, merges the catalog, and removes old snapshots and abandoned files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime

from msgspec import structs

from turnlog.errors import NotFound
from turnlog.fleet.catalog import SourceComparison, write_catalog
from turnlog.fleet.commit import LakeChange, LakeCommitter
from turnlog.fleet.engines import LakeEngine
from turnlog.fleet.rewrite import RewritePartsTask, move_to_new_parts, run_rewrites
from turnlog.store.lake.lake_files import LakeFiles
from turnlog.store.lake.snapshot import (
    CATALOG_FOLDER,
    SNAPSHOT_FOLDER,
    LakePart,
    Snapshot,
    commit_snapshot,
    list_snapshots,
    load_snapshot,
)

MAX_SMALL_PARTS = 16
"""How many small parts a partition may have before they are joined."""
SMALL_PART_BYTES = 16 << 20
_MAX_CATALOGS = 16
KEPT_SNAPSHOTS = 10
ABANDONED_SECONDS = 30 * 86400
"""A file that no snapshot lists belongs to a build that is at work, or was killed. No build takes this long."""


def compact_lake(lake: LakeFiles, engine: LakeEngine) -> None:
    """Join the small parts of partitions that have many, and merge the catalog."""
    base = load_snapshot(lake)
    tasks = [RewritePartsTask(lake.location, tuple(parts)) for parts in _iter_crowded_partitions(base)]
    if tasks:
        comparison = SourceComparison(lake, base)
        try:
            added, moves = run_rewrites(engine, tasks)
            rows = [move_to_new_parts(row, moves) for row in comparison.find_files_in_parts(moves)]
        finally:
            comparison.close()
        change = LakeChange(tuple(rows), tuple(added), frozenset(moves))
        base = LakeCommitter(lake, base).commit([change], "compact").snapshot
    if len(base.catalogs) > _MAX_CATALOGS:
        _merge_catalogs(lake, base)


def _iter_crowded_partitions(snapshot: Snapshot) -> Iterator[list[LakePart]]:
    partitions: dict[tuple[str, str], list[LakePart]] = defaultdict(list)
    for part in snapshot.parts:
        if part.size < SMALL_PART_BYTES:
            partitions[part.month, part.project_key].append(part)
    yield from (parts for parts in partitions.values() if len(parts) > MAX_SMALL_PARTS)


def _merge_catalogs(lake: LakeFiles, base: Snapshot) -> None:
    """Write the newest catalog row of each file into one file; give up if another process commits first."""
    comparison = SourceComparison(lake, base)
    try:
        merged = write_catalog(lake, comparison.iter_known())
    finally:
        comparison.close()
    now = datetime.now(UTC).isoformat(timespec="seconds")
    catalogs = (merged,) if merged else ()
    try:
        commit_snapshot(
            lake, structs.replace(base, number=base.number + 1, created=now, action="compact", catalogs=catalogs)
        )
    except FileExistsError:
        lake.delete(catalogs)


def expire_snapshots(lake: LakeFiles, kept: int = KEPT_SNAPSHOTS) -> None:
    """Delete old snapshots, and the files that only they list."""
    known = list_snapshots(lake)
    if len(known) <= kept:
        return
    oldest = load_snapshot(lake, known[-kept].number)
    needed = {*list_snapshot_files(oldest)}
    for entry in known[:-kept]:
        with suppress(NotFound):  # another process may be deleting it, too
            old = load_snapshot(lake, entry.number)
            # A part that leaves the lake never comes back: later snapshots need it only if the oldest one does.
            lake.delete(name for name in list_snapshot_files(old) if name not in needed)
        lake.delete([entry.name])


def delete_abandoned_files(lake: LakeFiles) -> int:
    """Delete the files that killed builds have left, once they are old enough; return how many."""
    newest = load_snapshot(lake)
    found = [item for folder in (CATALOG_FOLDER, *newest.schemas) for item in lake.iter_listing(folder)]
    # The storage's own clock decides, which may differ from ours.
    now = max((item.age_key for item in lake.iter_listing(SNAPSHOT_FOLDER)), default=0.0)
    old = [item.name for item in found if item.age_key < now - ABANDONED_SECONDS]
    if not old:
        return 0
    needed: set[str] = set()
    for entry in list_snapshots(lake):  # after the listing, so that they list whatever was committed meanwhile
        with suppress(NotFound):  # another process may be deleting it
            needed.update(list_snapshot_files(load_snapshot(lake, entry.number)))
    abandoned = [name for name in old if name not in needed]
    lake.delete(abandoned)
    return len(abandoned)


def list_snapshot_files(snapshot: Snapshot) -> Iterable[str]:
    """List the files that a snapshot needs."""
    yield from snapshot.catalogs
    for part in snapshot.parts:
        yield from part.list_paths()
