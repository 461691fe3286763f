"""The catalog of a lake: which version of each source file is in which parts.

A listing of millions of files is compared with the catalog in DuckDB, not in dictionaries.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.export.parquet import import_pyarrow
from turnlog.fleet.source import SourceFile
from turnlog.store.lake.lake import CATALOG_COLUMNS, connect_duckdb, create_catalog_view
from turnlog.store.lake.lake_files import LakeFiles
from turnlog.store.lake.packages import import_package
from turnlog.store.lake.snapshot import CATALOG_FOLDER, Snapshot

_ROWS_AT_ONCE = 50_000
_CHANGED = "known.file IS NULL OR known.version <> listing.version OR known.status <> 'live'"
_LISTING_COLUMNS = {
    "file": "number",
    "path": "text",
    "size": "number",
    "version": "text",
    "session_id": "text",
    "agent_id": "text",
    "file_name": "text",
    "folder": "number",
    "person": "text",
    "team": "text",
}


class CatalogRow(NamedTuple):
    """What a lake knows about one source file."""

    file: int
    source: int
    version: str
    size: int
    status: str
    """live, deleted or failed."""
    reason: str | None
    person: str | None
    parts: str
    """The ids of the parts that contain its rows, separated by spaces."""
    commit: int
    committed: str


class FileToRead(NamedTuple):
    """A source file to read, and the parts that contain its earlier version."""

    source: SourceFile
    old_parts: tuple[str, ...]


class SourceComparison:
    """A listing of a source, compared with the catalog of a lake."""

    def __init__(
        self, lake: LakeFiles, snapshot: Snapshot, source_number: int = 0, *, reads_again: bool = False
    ) -> None:
        """`reads_again` treats all files as changed."""
        self._condition = _CHANGED + (" OR true" if reads_again else "")
        self._db = connect_duckdb()
        lake.register_in(self._db)
        create_catalog_view(self._db, lake, snapshot.catalogs)
        self._source = source_number
        self._db.execute("CREATE TABLE known AS SELECT * FROM files")
        columns = ", ".join(
            f"{name} {'BIGINT' if kind == 'number' else 'VARCHAR'}" for name, kind in _LISTING_COLUMNS.items()
        )
        self._db.execute(f"CREATE TABLE listing ({columns})")

    def close(self) -> None:
        self._db.close()

    def add_listing(self, files: Iterable[SourceFile]) -> int:
        """Add the files that the source has now; return how many there are."""
        count, coming = 0, iter(files)
        while rows := list(islice(coming, _ROWS_AT_ONCE)):
            count += len(rows)
            self._db.register("fresh", build_arrow_table(rows, _LISTING_COLUMNS))
            self._db.execute("INSERT INTO listing SELECT * FROM fresh")
            self._db.unregister("fresh")
        return count

    def count_unchanged(self) -> int:
        query = "SELECT count(*) FROM listing JOIN known USING (file, version) WHERE status = 'live'"
        return int(self._db.execute(query).fetchone()[0])

    def measure_new(self, forgotten: tuple[str, ...]) -> tuple[int, int]:
        """Return the number and the bytes of the files to read."""
        which, values = self._build_change_condition(forgotten)
        query = f"SELECT count(*), coalesce(sum(listing.size), 0) FROM {which}"
        count, size = self._db.execute(query, values).fetchone()
        return int(count), int(size)

    def iter_changes(self, forgotten: tuple[str, ...], *, with_old_rows: bool) -> Iterator[FileToRead]:
        """Yield the files to read: those without rows in the lake, or those that replace rows.

        Files of one project and month are next to each other, so that they are written into few parts.
        """
        which, values = self._build_change_condition(forgotten)
        is_old = "coalesce(known.parts, '') <> ''"
        columns = ", ".join(f"listing.{name}" for name in _LISTING_COLUMNS)
        wanted = is_old if with_old_rows else f"NOT {is_old}"
        result = self._db.cursor().execute(
            f"SELECT {columns}, coalesce(known.parts, '') FROM {which} AND {wanted}"
            " ORDER BY regexp_replace(split_part(listing.path, '/projects/', 2), '^-(home|Users)-[^-/]+', ''),"
            " listing.path",
            values,
        )
        while rows := result.fetchmany(_ROWS_AT_ONCE):
            for *values, parts in rows:
                path, size, version, session, agent, name, folder, person, team = values[1:]
                file = SourceFile(values[0], path, size, version, session, agent, name, folder, person, team)
                yield FileToRead(file, tuple(parts.split()))

    def _build_change_condition(self, forgotten: tuple[str, ...]) -> tuple[str, list[Any]]:
        """Build the tables and the condition that select the files to read."""
        which = f"listing LEFT JOIN known USING (file) WHERE ({self._condition})"
        return f"{which} AND NOT list_contains(?, coalesce(listing.person, ''))", [list(forgotten)]

    def iter_deleted(self) -> Iterator[CatalogRow]:
        """Yield catalog rows for the files of this source that are no longer there."""
        columns = ", ".join(f'known."{name}"' for name in CATALOG_COLUMNS)
        result = self._db.cursor().execute(
            f"SELECT {columns} FROM known ANTI JOIN listing USING (file) WHERE source = ? AND status <> 'deleted'",
            [self._source],
        )
        while rows := result.fetchmany(_ROWS_AT_ONCE):
            for row in rows:
                yield CatalogRow(*row)._replace(status="deleted")

    def find_files_in_parts(self, parts: Iterable[str]) -> list[CatalogRow]:
        """Return the catalog rows of all files that have rows in any of these parts."""
        columns = ", ".join(f'"{name}"' for name in CATALOG_COLUMNS)
        query = f"SELECT {columns} FROM known WHERE list_has_any(string_split(parts, ' '), ?)"
        return [CatalogRow(*row) for row in self._db.execute(query, [list(parts)]).fetchall()]

    def iter_known(self) -> Iterator[CatalogRow]:
        """Yield the newest row of each file."""
        columns = ", ".join(f'"{name}"' for name in CATALOG_COLUMNS)
        result = self._db.cursor().execute(f"SELECT {columns} FROM known")
        while rows := result.fetchmany(_ROWS_AT_ONCE):
            yield from (CatalogRow(*row) for row in rows)


def write_catalog(lake: LakeFiles, rows: Iterable[CatalogRow]) -> str | None:
    """Write rows to a new file of the catalog, and return its name; None if there are no rows."""
    parquet = import_package("pyarrow.parquet")
    name = f"{CATALOG_FOLDER}/{uuid.uuid4().hex}.parquet"
    coming = iter(rows)
    first = list(islice(coming, _ROWS_AT_ONCE))
    if not first:
        return None
    with tempfile.TemporaryDirectory(prefix="turnlog-fleet-") as folder:
        path = Path(folder) / "catalog.parquet"
        table = build_arrow_table(first, CATALOG_COLUMNS)
        with parquet.ParquetWriter(path, table.schema, compression="zstd") as writer:
            writer.write_table(table)
            while more := list(islice(coming, _ROWS_AT_ONCE)):
                writer.write_table(build_arrow_table(more, CATALOG_COLUMNS))
        lake.upload(name, path)
    return name


def build_arrow_table(rows: list[Any], columns: dict[str, str]) -> Any:
    """Build an Arrow table from tuples."""
    arrow = import_pyarrow()
    types = {"number": arrow.int64(), "text": arrow.string(), "time": arrow.timestamp("us", tz="UTC")}
    arrays = [
        arrow.array(list(values), type=types[kind])
        for values, kind in zip(zip(*rows, strict=True), columns.values(), strict=True)
    ]
    return arrow.table(dict(zip(columns, arrays, strict=True)))
