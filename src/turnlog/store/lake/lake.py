"""An open lake: one snapshot, and its tables as views in DuckDB.

Queries can only read, and only the files of the lake. Besides the tables, the view `files` lists the source files
(never their paths) and says which of them were deleted.
"""

from __future__ import annotations

from typing import Any

from turnlog.errors import NotFound, TurnlogError, UsageError
from turnlog.store.lake.lake_files import LakeFiles
from turnlog.store.lake.packages import import_package
from turnlog.store.lake.snapshot import Snapshot, load_snapshot

_SQL_TYPES = {"text": "VARCHAR", "number": "BIGINT", "real": "DOUBLE", "truth": "BOOLEAN", "time": "TIMESTAMPTZ"}
CATALOG_COLUMNS = {
    "file": "number",
    "source": "number",
    "version": "text",
    "size": "number",
    "status": "text",
    "reason": "text",
    "person": "text",
    "parts": "text",
    "commit": "number",
    "committed": "text",
}
"""`status` is live, deleted or failed; `parts` is a list of part ids, separated by spaces."""
_READING_STATEMENTS = ("SELECT", "EXPLAIN")


class Lake:
    """One snapshot of a lake; close it after use."""

    def __init__(self, location: str, snapshot: int | None = None) -> None:
        self.files = LakeFiles(location)
        self.snapshot: Snapshot = load_snapshot(self.files, snapshot)
        if not self.snapshot.number:
            raise NotFound(f"{self.files.location}: not a lake; `turnlog fleet build` creates one")
        self.db = connect_duckdb()
        create_views(self.db, self.files, self.snapshot)

    def __enter__(self) -> Lake:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.db.close()

    def execute(self, query: str, values: Any = None) -> Any:
        """Run a query of turnlog's own; several results can be read at the same time."""
        try:
            return self.db.cursor().execute(query, values)
        except import_package("duckdb").Error as error:
            raise TurnlogError(f"{self.files.location}: {_shorten_sql_error(error)}") from None

    def lock(self) -> None:
        """Restrict the connection to the files of the lake, for queries that somebody else wrote."""
        self.db.execute("SET allowed_directories = ?", [[self.files.location + "/"]])
        self.db.execute("SET enable_external_access = false")
        self.db.execute("SET lock_configuration = true")

    def execute_untrusted(self, query: str) -> Any:
        """Run a user's query, which may only read; raise `UsageError` if it is anything else."""
        duckdb = import_package("duckdb")
        try:
            statements = self.db.extract_statements(query)
            kinds = [statement.type.name.upper() for statement in statements]
            if len(kinds) != 1 or kinds[0] not in _READING_STATEMENTS:
                raise UsageError("only one SELECT statement can be run; a lake is read-only")
            return self.db.sql(query)
        except duckdb.Error as error:
            raise UsageError(_shorten_sql_error(error)) from None


def connect_duckdb() -> Any:
    """Open a DuckDB connection in memory that never loads extensions and calculates in UTC."""
    connection = import_package("duckdb").connect(":memory:")
    for setting in (
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "preserve_insertion_order = false",
        "enable_progress_bar = false",
    ):
        connection.execute(f"SET {setting}")
    return connection


def create_views(connection: Any, files: LakeFiles, snapshot: Snapshot) -> None:
    """Create a view for each table of a snapshot."""
    files.register_in(connection)
    for table, columns in snapshot.schemas.items():
        paths = [files.join(path) for path in snapshot.list_table_paths(table)]
        create_table_view(connection, table if table != "sessions" else "session_rows", paths, columns)
    create_catalog_view(connection, files, snapshot.catalogs)
    if "sessions" in snapshot.schemas:
        deleted = "SELECT file, committed AS deleted FROM files WHERE status = 'deleted'"
        connection.execute(
            f"CREATE VIEW sessions AS SELECT session_rows.*, gone.deleted FROM session_rows LEFT JOIN ({deleted}) gone"
            " USING (file)"
        )


def create_catalog_view(connection: Any, files: LakeFiles, catalogs: tuple[str, ...]) -> None:
    """Create the view `files`: the newest row of each source file."""
    create_table_view(connection, "catalog_rows", [files.join(path) for path in catalogs], CATALOG_COLUMNS)
    connection.execute(
        "CREATE VIEW files AS SELECT * FROM catalog_rows"
        ' QUALIFY row_number() OVER (PARTITION BY file ORDER BY "commit" DESC) = 1'
    )


def create_table_view(connection: Any, name: str, paths: list[str], columns: dict[str, str]) -> None:
    """Create a view of Parquet files with these columns, or an empty view if there are none."""
    if paths:
        listed = ", ".join(quote_text(path) for path in paths)
        source = f"read_parquet([{listed}], hive_partitioning = false, union_by_name = true)"
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM {source}")
        return
    empty = ", ".join(f'NULL::{_SQL_TYPES[kind]} AS "{column}"' for column, kind in columns.items())
    connection.execute(f"CREATE VIEW {name} AS SELECT {empty} WHERE false")


def quote_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _shorten_sql_error(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:2])[:400]
