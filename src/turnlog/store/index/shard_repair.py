"""Keeps an index and its shards in agreement, and gives up shards that are damaged.

Each file of the database commits on its own, so a kill or a power cut can separate what belongs together. The rows of a
shard count if their file has the same generation in the index; all others are deleted before anything else is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import apsw

from turnlog.store.database_damage import DAMAGE_ERRORS, put_database_aside
from turnlog.store.file_lock import open_write_transaction
from turnlog.store.index.file_changes import NEVER_NS
from turnlog.store.index.shards import (
    attach_shards,
    delete_shard_file,
    delete_shard_rows,
    detach_shards,
    get_schema_name,
    get_shard_path,
    list_attached_shards,
    read_shard_numbers,
    write_shard_numbers,
)

_SHARD_TABLES = ("done", "hump")
"""The full-text tables of a shard."""
_STALE_QUERY = """
    SELECT fill.file FROM {name}.fill LEFT JOIN main.file ON file.id = fill.file
    WHERE file.id IS NULL OR file.shard IS NOT ? OR file.generation != fill.generation OR fill.filled > file.bound
"""
"""The last condition holds if the index is older than its shard: it is a copy, or a power cut took back its changes."""
_BEHIND_QUERY = """
    SELECT file.id, coalesce(fill.filled, 0), file.filled > file.bound
    FROM main.file LEFT JOIN {name}.fill ON fill.file = file.id
    WHERE file.shard = ? AND coalesce(fill.filled, 0) < min(file.filled, file.bound)
"""
_AGREEMENT_QUERY = """
    SELECT NOT EXISTS (
        SELECT 1 FROM {name}.fill LEFT JOIN main.file ON file.id = fill.file
        WHERE file.shard IS NOT ?1 OR file.generation != fill.generation
        OR fill.filled != min(file.filled, file.bound) OR (fill.failed AND file.room != 0 AND file.filled < file.bound)
    ) AND (SELECT count(*) FROM {name}.fill) = (SELECT count(*) FROM main.file WHERE shard = ?1)
"""
"""Whether there is nothing to delete, to read again or to note; looking for each of these takes three times as long."""
_PROGRESS_UPDATE = """
    UPDATE main.file SET filled = fill.filled FROM {name}.fill
    WHERE fill.file = file.id AND file.shard = ? AND fill.generation = file.generation
    AND fill.filled > file.filled AND file.filled < file.bound
"""
_FAILURE_UPDATE = """
    UPDATE main.file SET room = 0 FROM {name}.fill
    WHERE fill.file = file.id AND file.shard = ? AND fill.failed AND file.room != 0 AND file.filled < file.bound
"""


def note_shard_progress(db: apsw.Connection) -> None:
    """Copy into the index how far its shards contain their files.

    Each statement is a transaction of its own: one that is declared in advance would wait for the writers of shards.
    """
    for number in list_attached_shards(db):
        for update in (_PROGRESS_UPDATE, _FAILURE_UPDATE):
            db.execute(update.format(name=get_schema_name(number)), (number,))


def find_shard_conflicts(db: apsw.Connection) -> dict[int, int]:
    """Count the files on which an index and each of its shards disagree."""
    counts = {
        number: sum(
            len(db.execute(query.format(name=get_schema_name(number)), (number,)).fetchall())
            for query in (_STALE_QUERY, _BEHIND_QUERY)
        )
        for number in list_attached_shards(db)
    }
    return {number: count for number, count in counts.items() if count}


def reconcile_shards(db: apsw.Connection) -> None:
    """Make an index and its shards agree; the caller must hold the lock."""
    if unusable := attach_shards(db):
        drop_shards(db, unusable)
    if all(_agrees_with_shard(db, number) for number in list_attached_shards(db)):
        return
    with open_write_transaction(db):
        for number in list_attached_shards(db):
            name = get_schema_name(number)
            stale: list[Any] = db.execute(_STALE_QUERY.format(name=name), (number,)).fetchall()
            for (file,) in stale:
                delete_shard_rows(db, number, file)
            behind: list[Any] = db.execute(_BEHIND_QUERY.format(name=name), (number,)).fetchall()
            for file, filled, is_continued in behind:
                if is_continued:  # the index itself has a later part, which can't be told from the lost one
                    _fill_files_again(db, "id = ?", file)
                else:
                    db.execute("UPDATE main.file SET filled = ? WHERE id = ?", (filled, file))
    note_shard_progress(db)


def _agrees_with_shard(db: apsw.Connection, number: int) -> bool:
    return bool(db.execute(_AGREEMENT_QUERY.format(name=get_schema_name(number)), (number,)).get)


def find_damaged_shards(db: apsw.Connection) -> list[int]:
    """Return the shards with a fault in their file or their full-text tables."""
    return [number for number in list_attached_shards(db) if _is_damaged(db, get_schema_name(number), _SHARD_TABLES)]


def is_index_damaged(db: apsw.Connection) -> bool:
    """Return whether an index or one of its shards has a fault in its file or its full-text tables."""
    return _is_damaged(db, "main", ("said", *_SHARD_TABLES)) or bool(find_damaged_shards(db))


def _is_damaged(db: apsw.Connection, name: str, tables: Iterable[str]) -> bool:
    try:
        if db.execute(f"PRAGMA {name}.integrity_check(1)").get != "ok":
            return True
        for table in tables:
            db.execute(f"INSERT INTO {name}.{table} ({table}) VALUES ('integrity-check')")
    except (apsw.SQLError, *DAMAGE_ERRORS):
        return True
    return False


def drop_shards(db: apsw.Connection, numbers: Collection[int]) -> list[Path]:
    """Move shards aside, and let their files be read again; the caller must hold the lock. Return the new paths."""
    detach_shards(db)
    with open_write_transaction(db):
        for number in numbers:
            _fill_files_again(db, "shard = ?", number)
        write_shard_numbers(db, [number for number in read_shard_numbers(db) if number not in numbers])
    paths = [get_shard_path(Path(db.filename), number) for number in numbers]
    asides = [put_database_aside(path) for path in paths]
    attach_shards(db)
    return asides


def _fill_files_again(db: apsw.Connection, which: str, value: int) -> None:
    """Let the text of files be read again; that of deleted files is read from the archive, if they are there."""
    db.execute("DELETE FROM main.fact WHERE name = 'archive'")
    # If the index itself has a later part of a file, that part can't be told from the lost one.
    again = f"mtime_ns = {NEVER_NS}, size = 0"
    db.execute(f"UPDATE main.file SET {again} WHERE {which} AND filled > bound AND gone IS NULL", (value,))
    db.execute(f"UPDATE main.file SET filled = 0 WHERE {which} AND (filled <= bound OR gone IS NOT NULL)", (value,))
    db.execute(f"UPDATE main.file SET shard = NULL, bound = 0 WHERE {which}", (value,))


def forget_shards(db: apsw.Connection) -> None:
    """Record that an index has no shards, inside a transaction that deletes everything in them."""
    db.execute("UPDATE main.file SET shard = NULL, bound = 0 WHERE shard IS NOT NULL")
    write_shard_numbers(db, [])


def delete_shards(db: apsw.Connection, numbers: Iterable[int]) -> None:
    """Delete the files of shards that the index no longer has."""
    attach_shards(db)
    for number in numbers:
        delete_shard_file(get_shard_path(Path(db.filename), number))
