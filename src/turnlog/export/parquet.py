"""Sessions as a folder of Parquet files, one for each table (`tables`). Needs pyarrow: the extra `parquet`."""

from __future__ import annotations

from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

from turnlog.errors import TurnlogError
from turnlog.export.tables import TABLES, Row, fitting, rows
from turnlog.session.session import Session

_ROWS = 5_000
_CHARACTERS = 16 << 20
"""What is written at once: so many rows, or rows with so many characters."""


class Tables:
    """The files of one folder, being written; a context manager."""

    def __init__(self, folder: Path) -> None:
        self._arrow = arrow()
        self._folder = folder
        self._stack = ExitStack()
        self._tables: dict[str, _Table] = {}

    def __enter__(self) -> Tables:
        self._tables = {name: _Table(self._arrow, self._folder, name) for name in TABLES}
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
        for name, row in rows(session):
            self._tables[name].add(row)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows each table has."""
        return {name: table.count for name, table in self._tables.items()}


class _Table:
    """One file."""

    def __init__(self, arrow: Any, folder: Path, name: str) -> None:
        self._columns = TABLES[name]
        self._arrow = arrow
        self._schema = arrow.schema([(column, _type(arrow, kind)) for column, kind in self._columns.items()])
        self.writer = import_module("pyarrow.parquet").ParquetWriter(
            folder / f"{name}.parquet", self._schema, compression="zstd"
        )
        self._waiting: list[Row] = []
        self._size = 0
        self.count = 0

    def add(self, row: Row) -> None:
        fitted = {column: fitting(kind, row.get(column)) for column, kind in self._columns.items()}
        self._waiting.append(fitted)
        self._size += sum(len(value) for value in fitted.values() if isinstance(value, str))
        self.count += 1
        if len(self._waiting) >= _ROWS or self._size >= _CHARACTERS:
            self.flush()

    def flush(self) -> None:
        if self._waiting:
            self.writer.write_table(self._arrow.Table.from_pylist(self._waiting, schema=self._schema))
            self._waiting, self._size = [], 0


def _type(arrow: Any, kind: str) -> Any:
    types = {"text": arrow.large_string(), "number": arrow.int64(), "real": arrow.float64(), "truth": arrow.bool_()}
    return types.get(kind) or arrow.timestamp("us", tz="UTC")


def arrow() -> Any:
    """The library; a failure that names the extra where it is not installed."""
    try:
        return import_module("pyarrow")
    except ImportError:
        raise TurnlogError("--format parquet needs pyarrow: pip install 'turnlog[parquet]'") from None
