"""Writes parts again: without the rows of some files or people, or several small parts as one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.errors import TurnlogError
from turnlog.export.parquet import import_pyarrow
from turnlog.fleet.catalog import CatalogRow
from turnlog.fleet.engines import LakeEngine, WorkerDied
from turnlog.fleet.part_writer import PartPlace, PartSet
from turnlog.fleet.task import TaskResult
from turnlog.store.lake.lake_files import LakeFiles
from turnlog.store.lake.packages import import_package
from turnlog.store.lake.snapshot import LakePart

_ROWS_AT_ONCE = 5_000


class RewritePartsTask(NamedTuple):
    """Writes the rows of parts of one partition into one new part; writes nothing if no row is left."""

    lake: str
    parts: tuple[LakePart, ...]
    without_files: tuple[int, ...] = ()
    without_people: tuple[str, ...] = ()

    def run(self) -> TaskResult:
        files = LakeFiles(self.lake)
        with tempfile.TemporaryDirectory(prefix="turnlog-fleet-") as folder:
            written = PartSet(Path(folder) / "parts")
            try:
                for part in self.parts:
                    for table in part.rows:
                        for batch in self._iter_batches(files, part, table, Path(folder) / "old.parquet"):
                            place = PartPlace(part.month, part.project_key)
                            written.get_writer(place).add_batch(table, batch)
                return TaskResult(tuple(written.iter_finished(files)))
            except BaseException:
                written.discard()
                raise

    def _iter_batches(self, files: LakeFiles, part: LakePart, table: str, local: Path) -> Iterator[Any]:
        parquet, compute = import_package("pyarrow.parquet"), import_package("pyarrow.compute")
        files.download(part.get_path(table), local)
        with parquet.ParquetFile(local) as source:
            for batch in source.iter_batches(_ROWS_AT_ONCE):
                kept = batch
                for column, values in (("file", self.without_files), ("person", self.without_people)):
                    if values:
                        wanted = import_pyarrow().array(values, type=kept.schema.field(column).type)
                        is_dropped = compute.is_in(kept.column(column), value_set=wanted)
                        kept = kept.filter(compute.invert(is_dropped))
                if kept.num_rows:
                    yield kept


class RewriteResult(NamedTuple):
    added: list[LakePart]
    moves: dict[str, str]
    """The new part of each old one; empty if no row was left."""


def run_rewrites(engine: LakeEngine, tasks: list[RewritePartsTask]) -> RewriteResult:
    """Run tasks that replace parts."""
    added: list[LakePart] = []
    moves: dict[str, str] = {}
    for task, result in engine.iter_outcomes(tasks):
        if isinstance(result, WorkerDied):
            raise TurnlogError("workers were killed while rewriting parts of the lake; they may need more memory")
        if isinstance(task, RewritePartsTask):
            parts = [built.part for built in result.parts]
            added += parts
            moves |= dict.fromkeys((part.id for part in task.parts), parts[0].id if parts else "")
    return RewriteResult(added, moves)


def move_to_new_parts(row: CatalogRow, moves: dict[str, str]) -> CatalogRow:
    """Return a catalog row that names the new parts."""
    parts = dict.fromkeys(moves.get(part, part) for part in row.parts.split())
    return row._replace(parts=" ".join(part for part in parts if part))
