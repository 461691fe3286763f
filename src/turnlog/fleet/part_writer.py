"""Writes the rows of a task: one part for each month and project, with a Parquet file for each table."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.export.parquet import ParquetTable, import_pyarrow
from turnlog.export.table_columns import TABLE_COLUMNS, TableRow, build_arrow_schema, fit_column_value
from turnlog.fleet.settings import LAKE_COLUMNS, TEXT_COLUMNS
from turnlog.store.lake.lake_files import LakeFiles
from turnlog.store.lake.snapshot import LakePart


class LakeStamp(NamedTuple):
    """The values of the columns that a lake adds, for one source file."""

    file: int
    session_key: int
    person: str | None
    team: str | None
    project: str
    month: str


class PartPlace(NamedTuple):
    """The partition that a part belongs to."""

    month: str
    project_key: str


class BuiltPart(NamedTuple):
    """A part that was uploaded, and the source files whose rows it contains."""

    part: LakePart
    files: tuple[int, ...]


class PartWriter:
    """Collects the rows of one partition in local files, and uploads them when they are complete."""

    def __init__(self, folder: Path, place: PartPlace, *, has_text: bool = True) -> None:
        self.id = f"p-{uuid.uuid4().hex}"
        self.place = place
        self._folder = folder / self.id
        self._folder.mkdir(parents=True)
        self._has_text = has_text
        self._tables: dict[str, ParquetTable] = {}
        self._files: set[int] = set()
        self._people: set[str] = set()

    def add_row(self, table: str, stamp: LakeStamp, row: TableRow) -> None:
        """Add a row of a source file."""
        self._note_owner(stamp.file, stamp.person)
        values = stamp._asdict()
        hidden = () if self._has_text else TEXT_COLUMNS.get(table, ())
        for column, kind in TABLE_COLUMNS[table].items():
            values[column] = None if column in hidden else fit_column_value(kind, row.get(column))
        self._get_table(table).add(values)

    def add_batch(self, table: str, batch: Any) -> None:
        """Add rows that another part of the lake contains."""
        arrow = import_pyarrow()
        for file, person in zip(batch.column("file").to_pylist(), batch.column("person").to_pylist(), strict=True):
            self._note_owner(file, person)
        target = self._get_table(table)
        table_rows = arrow.Table.from_batches([batch])
        for field in target.schema:  # an older part may not have the newest columns
            if field.name not in table_rows.column_names:
                table_rows = table_rows.append_column(field, arrow.nulls(batch.num_rows, field.type))
        target.writer.write_table(table_rows.select(target.schema.names).cast(target.schema))
        target.count += batch.num_rows

    def _note_owner(self, file: int, person: str | None) -> None:
        self._files.add(file)
        if person is not None:
            self._people.add(person)

    def _get_table(self, table: str) -> ParquetTable:
        if table not in self._tables:
            schema = build_arrow_schema(import_pyarrow(), table, LAKE_COLUMNS)
            self._tables[table] = ParquetTable(self._folder / f"{table}.parquet", schema)
        return self._tables[table]

    def finish(self, files: LakeFiles) -> BuiltPart:
        """Upload the files; until a snapshot lists the part, no reader sees it."""
        for table in self._tables.values():
            table.close()
        paths = {table: self._folder / f"{table}.parquet" for table in self._tables}
        part = LakePart(
            self.id,
            self.place.month,
            self.place.project_key,
            {name: table.count for name, table in sorted(self._tables.items())},
            sum(path.stat().st_size for path in paths.values()),
            len(self._files),
            tuple(sorted(self._people)),
        )
        for name, path in paths.items():
            files.upload(part.get_path(name), path)
            path.unlink()
        return BuiltPart(part, tuple(sorted(self._files)))

    def discard(self) -> None:
        """Close the files without uploading them."""
        for table in self._tables.values():
            table.writer.close()


class PartSet:
    """The parts that one task writes."""

    def __init__(self, folder: Path, *, has_text: bool = True) -> None:
        self._folder, self._has_text = folder, has_text
        self._writers: dict[PartPlace, PartWriter] = {}

    def get_writer(self, place: PartPlace) -> PartWriter:
        if place not in self._writers:
            self._writers[place] = PartWriter(self._folder, place, has_text=self._has_text)
        return self._writers[place]

    def iter_finished(self, files: LakeFiles) -> Iterator[BuiltPart]:
        for writer in self._writers.values():
            yield writer.finish(files)

    def discard(self) -> None:
        for writer in self._writers.values():
            writer.discard()
