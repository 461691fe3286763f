"""Passes every text and blob in a SQLite file through a function, without changing the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import apsw

from turnlog.errors import Unreadable

TextChange = Callable[[str], str]
BlobChange = Callable[[bytes], bytes]
_SHADOW_SUFFIXES = ("_data", "_idx", "_content", "_docsize", "_config")


class _TextColumn(NamedTuple):
    table: str
    name: str


def has_log(path: Path) -> bool:
    """Return whether a database has changes in a log beside it; the last process that closes it removes the log."""
    return path.with_name(f"{path.name}-wal").exists()


def merge_log(path: Path) -> bool:
    """Write the log of a database into it; return whether no other process has the database open."""
    try:
        db = apsw.Connection(os.fspath(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            db.close()
    except apsw.Error:
        return False
    return not has_log(path)


def visit_texts(path: Path, visit_text: TextChange, visit_blob: BlobChange) -> None:
    """Pass every text and blob to a function, without changing anything."""
    try:
        db = _open_read_only(path)
        try:
            for column in [*_list_columns(db)]:
                for _, value in db.execute(f"SELECT rowid, {column.name} FROM {column.table}"):
                    _change_value(value, visit_text, visit_blob)
        finally:
            db.close()
    except apsw.Error as error:
        raise Unreadable(f"{path}: {error}") from error


def copy_with_changed_texts(path: Path, goal: Path, change_text: TextChange, change_blob: BlobChange) -> bool:
    """Write a compact copy with changed texts and blobs; return whether anything changed."""
    is_changed = False
    try:
        db = _open_read_only(path)
        try:
            db.execute("VACUUM INTO ?", (os.fspath(goal),))
        finally:
            db.close()
        copy = apsw.Connection(os.fspath(goal))
        try:
            with copy:
                for column in [*_list_columns(copy)]:
                    is_changed |= _change_column(copy, column, change_text, change_blob)
            copy.execute("PRAGMA journal_mode = DELETE")
            copy.execute("VACUUM")
        finally:
            copy.close()
    except apsw.Error as error:
        raise Unreadable(f"{path}: {error}") from error
    return is_changed


def _open_read_only(path: Path) -> apsw.Connection:
    # A reader of a database without a log would leave an empty log behind.
    mode = "mode=ro" if has_log(path) else "immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return apsw.Connection(f"file:{quote(os.fspath(path))}?{mode}", flags=flags)


def _list_columns(db: apsw.Connection) -> Iterator[_TextColumn]:
    """Yield the stored columns of text and bytes in tables that have row ids."""
    for row in db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").fetchall():
        name, sql = map(str, row)
        if sql.upper().startswith("CREATE VIRTUAL") or name.startswith("sqlite_") or name.endswith(_SHADOW_SUFFIXES):
            continue
        if "WITHOUT ROWID" in sql.upper():
            continue
        for column in db.execute(f"PRAGMA table_xinfo({_quote_name(name)})").fetchall():
            is_stored = not column[-1]
            if is_stored and str(column[2]).upper() in ("TEXT", "BLOB"):
                yield _TextColumn(_quote_name(name), _quote_name(str(column[1])))


def _change_column(db: apsw.Connection, column: _TextColumn, change_text: TextChange, change_blob: BlobChange) -> bool:
    rows = db.execute(f"SELECT rowid, {column.name} FROM {column.table}").fetchall()
    changes = [(new, number) for number, old in rows if (new := _change_value(old, change_text, change_blob)) != old]
    for change in changes:
        db.execute(f"UPDATE OR IGNORE {column.table} SET {column.name} = ? WHERE rowid = ?", change)
    return bool(changes)


def _change_value(value: object, change_text: TextChange, change_blob: BlobChange) -> str | bytes | None:
    if isinstance(value, str):
        return change_text(value)
    return change_blob(value) if isinstance(value, bytes) else None


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
