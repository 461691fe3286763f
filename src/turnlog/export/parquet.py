"""Sessions as a folder of Parquet files, one per table (`tables`). Requires pyarrow (the `parquet` extra)."""

from __future__ import annotations

from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

from turnlog.errors import TurnlogError
from turnlog.export.table_columns import TABLE_COLUMNS, TableRow, build_arrow_schema, fit_column_value
from turnlog.export.tables import iter_table_rows
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
        self._tables: dict[str, ParquetTable] = {}

    def __enter__(self) -> ParquetTables:
        self._tables = {
            name: ParquetTable(self._folder / f"{name}.parquet", build_arrow_schema(self._arrow, name))
            for name in TABLE_COLUMNS
        }
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
            table = self._tables[name]
            columns = TABLE_COLUMNS[name]
            table.add({column: fit_column_value(kind, row.get(column)) for column, kind in columns.items()})

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows in each table."""
        return {name: table.count for name, table in self._tables.items()}


class ParquetTable:
    """Writes one Parquet file, with few rows in memory at a time."""

    def __init__(self, path: Path, schema: Any) -> None:
        self._arrow = import_pyarrow()
        self.schema = schema
        self.writer = import_module("pyarrow.parquet").ParquetWriter(path, schema, compression="zstd")
        self._waiting: list[TableRow] = []
        self._size = 0
        self.count = 0

    def add(self, values: TableRow) -> None:
        """Add a row whose values already fit the columns."""
        self._waiting.append(values)
        self._size += sum(len(value) for value in values.values() if isinstance(value, str))
        self.count += 1
        if len(self._waiting) >= _MAX_WAITING_ROWS or self._size >= _MAX_WAITING_CHARS:
            self.flush()

    def flush(self) -> None:
        """Write the rows that are waiting."""
        if self._waiting:
            self.writer.write_table(self._arrow.Table.from_pylist(self._waiting, schema=self.schema))
            self._waiting, self._size = [], 0

    def close(self) -> None:
        """Write what is left, and the end of the file."""
        self.flush()
        self.writer.close()


def import_pyarrow() -> Any:
    """Import pyarrow, or fail with the name of the extra that installs it."""
    try:
        return import_module("pyarrow")
    except ImportError:
        raise TurnlogError("Parquet requires pyarrow; run `pip install 'turnlog[parquet]'`") from None
