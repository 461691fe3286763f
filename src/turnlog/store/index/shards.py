"""The shards of an index: files beside it that contain most of the text of tool calls, results and attachments.

`index.db` contains what an overview needs and the text of small changes. The rest of large changes is written to
shards, `index.shard1` and so on, each by a process of its own (`shard_writer`). A shard has the tables `call`, `text`,
`run`, `done`, `identifier` and `hump` of the index, and `fill`, which says how far it contains each of its files.

A connection to an index has its shards attached. Temporary views, `text`, `run` and `call`, combine their rows, so that
queries don't need to know where a row is; the full-text tables are searched one by one.

Each shard names its index and its own number, so that one that was copied from elsewhere is not mistaken for it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw

from turnlog.store.database_damage import check_log_places, is_database_damage, put_database_aside
from turnlog.store.file_lock import enable_write_ahead_log, open_write_transaction
from turnlog.store.index.full_text_pieces import FULL_TEXT_TABLES, prepare_full_text

SHARD_FAULT_START = "shard "
"""How the description of a fault in a shard starts."""
_SCHEMA_PREFIX = "shard"
_SHARD_SUFFIX = ".shard"
_SHARD_TABLES = ("call", "text", "run", "done", "identifier", "hump", "fact")
_OWNER_QUERY = """
    SELECT (SELECT value FROM {name}.fact WHERE name = 'owner') = value || ? FROM main.fact WHERE name = 'mark'
"""
_FILL_TABLE = """
    CREATE TABLE fill (
        file        INTEGER PRIMARY KEY,
        generation  INTEGER NOT NULL,
        filled      INTEGER NOT NULL,
        room        INTEGER NOT NULL,
        named       INTEGER NOT NULL,
        failed      INTEGER NOT NULL DEFAULT 0
    )
"""
COUNT_TEXTS = "SELECT coalesce(sum(last - first + 1), 0) FROM run"
_TEXTS_OF_FILE = """
    SELECT text.id FROM {name}.run CROSS JOIN {name}.text ON text.id BETWEEN first AND last WHERE run.file = ?
"""
_CACHE_KIB = 8_000
_SYNCHRONOUS = "normal"


def get_shard_path(index: Path, number: int) -> Path:
    """Return the path of a shard."""
    return index.with_suffix(f"{_SHARD_SUFFIX}{number}")


def get_schema_name(number: int) -> str:
    """Return the name under which a shard is attached."""
    return f"{_SCHEMA_PREFIX}{number}"


def read_shard_numbers(db: apsw.Connection) -> list[int]:
    """Return the numbers of the shards that an index has."""
    value: Any = db.execute("SELECT value FROM main.fact WHERE name = 'shards'").get
    return json.loads(value) if value else []


def write_shard_numbers(db: apsw.Connection, numbers: Iterable[int]) -> None:
    db.execute("INSERT OR REPLACE INTO main.fact VALUES ('shards', ?)", (json.dumps(sorted(numbers)),))


def list_attached_shards(db: apsw.Connection) -> list[int]:
    """Return the numbers of the shards that a connection has attached."""
    names: list[Any] = [name for _, name, _ in db.execute("PRAGMA database_list").fetchall()]
    return [int(name.removeprefix(_SCHEMA_PREFIX)) for name in names if name.startswith(_SCHEMA_PREFIX)]


def list_schemas(db: apsw.Connection) -> list[str]:
    """Return the names of the databases that contain texts, the one with the newest texts first."""
    return ["main", *map(get_schema_name, reversed(list_attached_shards(db)))]


def list_text_schemas(db: apsw.Connection, table: str) -> list[str]:
    """Return the names of the databases that have a full-text table."""
    return list_schemas(db) if table == "done" else ["main"]


def list_full_text_tables(db: apsw.Connection) -> list[tuple[str, str]]:
    """Return the full-text tables of an index and its shards, each with the name of its database."""
    return [(schema, table) for table in FULL_TEXT_TABLES for schema in list_text_schemas(db, table)]


def list_text_runs(db: apsw.Connection, file: int) -> list[tuple[int, int]]:
    """Return the first and last number of each run of a file's texts, in order."""
    rows: list[Any] = db.execute("SELECT first, last FROM run WHERE file = ? ORDER BY first", (file,)).fetchall()
    return rows


def attach_shards(db: apsw.Connection) -> list[int]:
    """Attach the shards of an index, and detach those that it no longer has; return those that are unusable."""
    wanted = read_shard_numbers(db)
    attached = list_attached_shards(db)
    if wanted == attached:
        return []
    detach_shards(db)
    unusable = [number for number in wanted if not _attach_shard(db, number)]
    if len(unusable) < len(wanted):
        _create_views(db)
    return unusable


def detach_shards(db: apsw.Connection) -> None:
    """Detach all shards."""
    for view in ("text", "run", "call"):
        db.execute(f"DROP VIEW IF EXISTS temp.{view}")
    for name in map(get_schema_name, list_attached_shards(db)):
        db.execute(f"DETACH {name}")


def _attach_shard(db: apsw.Connection, number: int) -> bool:
    """Attach a shard; return whether it can be used."""
    path, name = get_shard_path(Path(db.filename), number), get_schema_name(number)
    if not path.is_file():  # SQLite would create an empty one
        return False
    try:
        check_log_places(path)
        db.execute("ATTACH ? AS " + name, (str(path),))
        if db.readonly(name):  # by its permissions; most commands would notice only after a long time
            raise apsw.ReadOnlyError(f"{path.name} is not writable")
        if db.pragma("user_version", schema=name) == db.pragma("user_version"):
            is_ours = db.execute(_OWNER_QUERY.format(name=name), (f"/{number}",)).get
            db.execute(f"SELECT 1 FROM {name}.fill LIMIT 1").fetchall()
            db.execute(f"SELECT 1 FROM {name}.text LIMIT 1").fetchall()
            db.execute(f"SELECT 1 FROM {name}.done WHERE done MATCH 'any'").fetchone()
            db.execute(f"PRAGMA {name}.synchronous = {_SYNCHRONOUS}")
            db.execute(f"PRAGMA {name}.cache_size = -{_CACHE_KIB}")
            if is_ours:
                return True
    except apsw.Error as error:
        if not is_database_damage(error, path):
            raise
    with suppress(apsw.Error):
        db.execute(f"DETACH {name}")
    return False


def _create_views(db: apsw.Connection) -> None:
    names = list(map(get_schema_name, list_attached_shards(db)))
    # What was added to a file later is in the index itself, with a copy of each call that it changed.
    calls = ["SELECT * FROM main.call"] + [
        f"SELECT * FROM {name}.call AS older WHERE NOT EXISTS"
        " (SELECT 1 FROM main.call AS newer WHERE newer.file = older.file AND newer.id = older.id)"
        for name in names
    ]
    for table in ("text", "run"):
        parts = [f"SELECT * FROM {name}.{table}" for name in ["main", *names]]
        db.execute(f"CREATE TEMP VIEW {table} AS {' UNION ALL '.join(parts)}")
    db.execute(f"CREATE TEMP VIEW call AS {' UNION ALL '.join(calls)}")


def open_shard(index: Path, number: int) -> apsw.Connection:
    """Open a connection to a shard alone, for its writer."""
    db = apsw.Connection(str(get_shard_path(index, number)), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        db.set_busy_timeout(_BUSY_TIMEOUT_MS)
        db.pragma("synchronous", _SYNCHRONOUS)
        db.pragma("temp_store", "memory")
        db.pragma("cache_size", -2 * _CACHE_KIB)
    except BaseException:
        db.close()
        raise
    return db


_BUSY_TIMEOUT_MS = 30_000
"""How long to wait for a writer whose coordinator died; it ends after the piece that it is reading."""


def add_shard(db: apsw.Connection) -> int:
    """Create and attach another shard; the caller must hold the lock of the index."""
    last: Any = db.execute("SELECT value FROM main.fact WHERE name = 'last_shard'").get or 0
    number = int(last) + 1
    numbers = read_shard_numbers(db)
    _delete_strays(Path(db.filename), numbers)
    db.execute("INSERT OR IGNORE INTO main.fact VALUES ('mark', lower(hex(randomblob(8))))")
    mark: Any = db.execute("SELECT value FROM main.fact WHERE name = 'mark'").get
    _create_shard_file(db, number, f"{mark}/{number}")
    with open_write_transaction(db):
        db.execute("INSERT OR REPLACE INTO main.fact VALUES ('last_shard', ?)", (number,))
        write_shard_numbers(db, [*numbers, number])
    attach_shards(db)
    return number


def _delete_strays(index: Path, numbers: Collection[int]) -> None:
    """Delete the shards of an index that was deleted by hand, and those that a kill left behind."""
    for path in list_shard_files(index):
        if int(path.suffix.removeprefix(_SHARD_SUFFIX)) not in numbers:
            delete_shard_file(path)


def _create_shard_file(db: apsw.Connection, number: int, owner: str) -> None:
    """Create the tables of a shard as the index has them."""
    path = get_shard_path(Path(db.filename), number)
    import os

    before = os.umask(0o077)
    try:
        shard = apsw.Connection(str(path))
        try:
            enable_write_ahead_log(shard)
            wanted = ",".join("?" * len(_SHARD_TABLES))
            query = f"SELECT sql FROM main.sqlite_schema WHERE name IN ({wanted})"
            with shard:
                for (statement,) in db.execute(query, _SHARD_TABLES):
                    shard.execute(statement)
                shard.execute(_FILL_TABLE)
                shard.execute("INSERT INTO fact VALUES ('owner', ?)", (owner,))
                prepare_full_text(shard, ["done"])
                shard.pragma("user_version", db.pragma("user_version"))
        finally:
            shard.close()
    finally:
        os.umask(before)


def delete_shard_file(path: Path) -> None:
    """Delete a shard and its log."""
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def put_shards_aside(index: Path) -> None:
    """Rename the shards of an index that was renamed."""
    for path in list_shard_files(index):
        put_database_aside(path)


def list_shard_files(index: Path) -> list[Path]:
    """List the files that are named like a shard of an index."""
    index = index.resolve()
    return [
        path
        for path in index.parent.iterdir()
        if path.stem == index.stem and path.suffix.removeprefix(_SHARD_SUFFIX).isdecimal()
    ]


def release_from_shard(db: apsw.Connection, file: int) -> None:
    """Delete the rows of a file from its shard, inside the transaction in which the index forgets them."""
    number: Any = db.execute("SELECT shard FROM main.file WHERE id = ?", (file,)).get
    if number is None:
        return
    if number in list_attached_shards(db):
        delete_shard_rows(db, number, file)
    db.execute("UPDATE main.file SET shard = NULL, bound = 0 WHERE id = ?", (file,))


def delete_shard_rows(db: apsw.Connection, number: int, file: int) -> None:
    """Delete the rows of a file from a shard."""
    name = get_schema_name(number)
    which = _TEXTS_OF_FILE.format(name=name)
    db.execute(f"DELETE FROM {name}.done WHERE rowid IN ({which})", (file,))
    db.execute(f"DELETE FROM {name}.text WHERE id IN ({which})", (file,))
    for table in ("run", "call", "fill"):
        db.execute(f"DELETE FROM {name}.{table} WHERE file = ?", (file,))
    db.execute(f"DELETE FROM {name}.fact WHERE name = ?", (f"cut texts of file {file}",))


def copy_calls_from_shard(db: apsw.Connection, file: int, calls: Iterable[str]) -> None:
    """Copy the rows of calls into the index that are about to change there; a row in the index hides its original."""
    number: Any = db.execute("SELECT shard FROM main.file WHERE id = ?", (file,)).get
    if number is None or number not in list_attached_shards(db):
        return
    db.execute(
        f"INSERT OR IGNORE INTO main.call SELECT * FROM {get_schema_name(number)}.call"
        " WHERE file = ? AND id IN (SELECT value FROM json_each(?))",
        (file, json.dumps(list(calls))),
    )
