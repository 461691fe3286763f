"""Commits changes to a lake, also while other builds are at work on it.

A change lists the parts and catalog rows of complete units of work. If another build committed first, the units that
touch the same source files are thrown away: their files are planned again, and turn out to be done.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from turnlog._version import __version__
from turnlog.fleet.catalog import CatalogRow, write_catalog
from turnlog.fleet.settings import list_lake_schemas
from turnlog.store.lake.lake import CATALOG_COLUMNS, connect_duckdb, create_table_view
from turnlog.store.lake.lake_files import LakeFiles
from turnlog.store.lake.snapshot import LakePart, Snapshot, commit_snapshot, load_snapshot


class LakeChange(NamedTuple):
    """What one unit of work changes, as a whole."""

    rows: tuple[CatalogRow, ...]
    """The new catalog rows; number and time are filled in by the commit."""
    added: tuple[LakePart, ...] = ()
    removed: frozenset[str] = frozenset()
    """The ids of parts that the added ones replace."""


class CommitResult(NamedTuple):
    snapshot: Snapshot
    dropped: int
    """How many changes were thrown away because another build was faster."""


class LakeCommitter:
    """Adds snapshots to a lake, starting from the one that the work was planned with."""

    def __init__(self, files: LakeFiles, base: Snapshot) -> None:
        self._files = files
        self.base = base

    def commit(self, changes: Iterable[LakeChange], action: str) -> CommitResult:
        """Commit changes together; drop those that conflict with what other builds have committed."""
        wanted, dropped = list(changes), 0
        while wanted:
            latest = load_snapshot(self._files)
            kept = self._drop_conflicts(wanted, latest)
            known = {id(change) for change in kept}
            self._delete_parts(change for change in wanted if id(change) not in known)
            dropped += len(wanted) - len(kept)
            wanted = kept
            if not wanted:
                self.base = latest
                break
            snapshot = self._apply(wanted, latest, action)
            try:
                commit_snapshot(self._files, snapshot)
            except FileExistsError:
                self._files.delete(name for name in snapshot.catalogs if name not in latest.catalogs)
                continue
            self.base = snapshot
            break
        return CommitResult(self.base, dropped)

    def _drop_conflicts(self, changes: list[LakeChange], latest: Snapshot) -> list[LakeChange]:
        if latest.number == self.base.number:
            return changes
        if latest.epoch != self.base.epoch:
            return []
        parts = {part.id for part in latest.parts}
        touched = self._find_touched_files(latest)
        return [
            change
            for change in changes
            if change.removed <= parts and touched.isdisjoint(row.file for row in change.rows)
        ]

    def _find_touched_files(self, latest: Snapshot) -> set[int]:
        """Return the files with catalog rows that are newer than the work's plan."""
        known = set(self.base.catalogs)
        paths = [self._files.join(name) for name in latest.catalogs if name not in known]
        connection = connect_duckdb()
        try:
            self._files.register_in(connection)
            create_table_view(connection, "newer", paths, CATALOG_COLUMNS)
            rows = connection.execute('SELECT file FROM newer WHERE "commit" > ?', [self.base.number]).fetchall()
            return {file for (file,) in rows}
        finally:
            connection.close()

    def _apply(self, changes: list[LakeChange], latest: Snapshot, action: str) -> Snapshot:
        number, now = latest.number + 1, datetime.now(UTC).isoformat(timespec="seconds")
        rows = (row._replace(commit=number, committed=now) for change in changes for row in change.rows)
        catalog = write_catalog(self._files, rows)
        removed = frozenset[str]().union(*(change.removed for change in changes))
        parts = [part for part in latest.parts if part.id not in removed]
        return Snapshot(
            number,
            created=now,
            turnlog=__version__,
            action=action,
            key_id=self.base.key_id,
            epoch=latest.epoch,
            is_redacted=self.base.is_redacted,
            schemas=list_lake_schemas(),
            parts=(*parts, *(part for change in changes for part in change.added)),
            catalogs=(*latest.catalogs, catalog) if catalog else latest.catalogs,
            forgotten=latest.forgotten,
        )

    def _delete_parts(self, changes: Iterable[LakeChange]) -> None:
        self._files.delete(path for change in changes for part in change.added for path in part.list_paths())
