"""Sessions as a folder of Parquet files, one per table (`tables`). Requires pyarrow (the `parquet` extra)."""

from __future__ import annotations

from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

from turnlog.errors import TurnlogError
from turnlog.export.tables import TABLE_COLUMNS, TableRow, fit_column_value, iter_table_rows
from turnlog.session.session import Session

_MAX_WAITING_ROWS = 5_000
_MAX_WAITING_CHARS = 16 << 20
"""How many rows, or characters in rows, to collect before each write."""


class ParquetTables:
    """A context manager that writes the Parquet files of one folder."""

    def __init__(self, folder: Path) -> None:
        self._arrow = import_pyarrow()
        self._folder = folder
        self._stack = ExitStack()
        self._tables: dict[str, _ParquetTable] = {}

    def __enter__(self) -> ParquetTables:
        self._tables = {name: _ParquetTable(self._arrow, self._folder, name) for name in TABLE_COLUMNS}
        for table in self._tables.values():
            self._stack.callback(table.writer.close)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with self._stack:
            if kind is None:
                for table in self._tables.values():
                    table.flush()

    def add(self, session: Session) -> None:
        """Add the rows of a session."""
        for name, row in iter_table_rows(session):
            self._tables[name].add(row)

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows in each table."""
        return {name: table.count for name, table in self._tables.items()}


class _ParquetTable:
    def __init__(self, arrow: Any, folder: Path, name: str) -> None:
        self._columns = TABLE_COLUMNS[name]
        self._arrow = arrow
        self._schema = arrow.schema([(column, _to_arrow_type(arrow, kind)) for column, kind in self._columns.items()])
        self.writer = import_module("pyarrow.parquet").ParquetWriter(
            folder / f"{name}.parquet", self._schema, compression="zstd"
        )
        self._waiting: list[TableRow] = []
        self._size = 0
        self.count = 0

    def add(self, row: TableRow) -> None:
        values = {column: fit_column_value(kind, row.get(column)) for column, kind in self._columns.items()}
        self._waiting.append(values)
        self._size += sum(len(value) for value in values.values() if isinstance(value, str))
        self.count += 1
        if len(self._waiting) >= _MAX_WAITING_ROWS or self._size >= _MAX_WAITING_CHARS:
            self.flush()

    def flush(self) -> None:
        if self._waiting:
            self.writer.write_table(self._arrow.Table.from_pylist(self._waiting, schema=self._schema))
            self._waiting, self._size = [], 0


def _to_arrow_type(arrow: Any, kind: str) -> Any:
    types = {"text": arrow.large_string(), "number": arrow.int64(), "real": arrow.float64(), "truth": arrow.bool_()}
    return types.get(kind) or arrow.timestamp("us", tz="UTC")


def import_pyarrow() -> Any:
    """Import pyarrow, or fail with the name of the extra that installs it."""
    try:
        return import_module("pyarrow")
    except ImportError:
        raise TurnlogError("--format parquet requires pyarrow; run `pip install 'turnlog[parquet]'`") from None
