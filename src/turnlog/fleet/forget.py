"""Erases a person from a lake: from every table, from the catalog, from old snapshots, and from unfinished builds.

First a snapshot without the person is committed; it also tells builds that are at work to throw away what they have,
and all later builds to skip the person's files. Then every file that this snapshot doesn't list is deleted. If the
process is killed in between, running it again completes the work.
"""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import Struct

from turnlog._version import __version__
from turnlog.errors import NotFound, TurnlogError
from turnlog.fleet.catalog import SourceComparison, write_catalog
from turnlog.fleet.engines import LakeEngine
from turnlog.fleet.rewrite import RewritePartsTask, move_to_new_parts, run_rewrites
from turnlog.fleet.settings import list_lake_schemas
from turnlog.fleet.upkeep import list_snapshot_files
from turnlog.store.lake.lake_files import LakeFiles
from turnlog.store.lake.snapshot import (
    CATALOG_FOLDER,
    SNAPSHOT_FOLDER,
    Snapshot,
    commit_snapshot,
    list_snapshots,
    load_snapshot,
)

_MAX_ATTEMPTS = 10


class ForgottenPerson(Struct, frozen=True):
    """What was erased."""

    lake: str
    person: str
    snapshot: int
    files: int
    """How many source files of the person the lake contained."""
    parts: int
    """How many parts were written again or removed."""
    deleted_files: int
    """How many files were deleted from the lake's storage."""


def erase_person(location: str, pseudonym: str, engine: LakeEngine) -> ForgottenPerson:
    """Erase all rows of a person; the person's files are skipped from now on."""
    lake = LakeFiles(location)
    for _ in range(_MAX_ATTEMPTS):
        base = load_snapshot(lake)
        if not base.number:
            raise NotFound(f"{lake.location}: not a lake; `turnlog fleet build` creates one")
        try:
            done = _commit_without_person(lake, base, pseudonym, engine)
        except FileExistsError:
            continue
        return ForgottenPerson(
            lake.location, pseudonym, done.snapshot.number, done.files, done.parts, _delete_unlisted(lake)
        )
    raise TurnlogError(f"{lake.location}: builds kept changing the lake; stop them and try again")


class _ErasedSnapshot(Struct, frozen=True):
    snapshot: Snapshot
    files: int
    parts: int


def _commit_without_person(lake: LakeFiles, base: Snapshot, pseudonym: str, engine: LakeEngine) -> _ErasedSnapshot:
    affected = [part for part in base.parts if pseudonym in part.people]
    tasks = [RewritePartsTask(lake.location, (part,), (), (pseudonym,)) for part in affected]
    added, moves = run_rewrites(engine, tasks)
    comparison = SourceComparison(lake, base)
    try:
        rows = [move_to_new_parts(row, moves) for row in comparison.iter_known()]
    finally:
        comparison.close()
    others = [row for row in rows if row.person != pseudonym]
    catalog = write_catalog(lake, others)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    snapshot = Snapshot(
        base.number + 1,
        created=now,
        turnlog=__version__,
        action="forget",
        key_id=base.key_id,
        epoch=base.epoch + 1,
        is_redacted=base.is_redacted,
        schemas=list_lake_schemas(),
        parts=(*(part for part in base.parts if part.id not in moves), *added),
        catalogs=(catalog,) if catalog else (),
        forgotten=tuple(sorted({*base.forgotten, pseudonym})),
    )
    try:
        commit_snapshot(lake, snapshot)
    except FileExistsError:
        lake.delete([*snapshot.catalogs, *(path for part in added for path in part.list_paths())])
        raise
    return _ErasedSnapshot(snapshot, len(rows) - len(others), len(affected))


def _delete_unlisted(lake: LakeFiles) -> int:
    """Delete old snapshots and all data files that the newest snapshot doesn't list."""
    newest = load_snapshot(lake)
    last = list_snapshots(lake)[-1]
    needed = {*list_snapshot_files(newest), last.name}
    folders = (SNAPSHOT_FOLDER, CATALOG_FOLDER, *newest.schemas)
    unlisted = [item.name for folder in folders for item in lake.iter_listing(folder) if item.name not in needed]
    lake.delete(unlisted)
    return len(unlisted)
