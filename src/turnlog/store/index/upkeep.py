"""Empties, checks and compacts an index."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from turnlog.entries.layout import Survey
from turnlog.entries.tail import Checkpoint, find_stale_reason
from turnlog.entries.transcript_files import list_transcripts
from turnlog.store.database_damage import DAMAGE_ERRORS
from turnlog.store.file_lock import open_write_transaction
from turnlog.store.index.file_changes import NEVER_NS, have_folders_changed, is_utf8_text
from turnlog.store.index.refresh import ignore_progress
from turnlog.store.index.shard_repair import delete_shards, find_shard_conflicts, forget_shards
from turnlog.store.index.shards import (
    SHARD_FAULT_START,
    attach_shards,
    detach_shards,
    get_schema_name,
    list_attached_shards,
    open_shard,
    read_shard_numbers,
)
from turnlog.store.index.spend_table import renew_spend

_RESET_REASONS = {
    "missing": "deleted",
    "truncated": "truncated",
    "replaced": "replaced",
    "rewritten": "overwritten",
}


_MAX_UNINTERRUPTED_STEPS = 100_000
"""How many instructions of SQLite run before Python can handle a signal; a few milliseconds."""


def empty_index(db: apsw.Connection, config_dirs: Sequence[Path]) -> int:
    """Remove everything that can be read again; return the number of files that are kept because they can't be read.

    The counts of a file that was deleted or can't be read now are kept. Its text is restored when the file returns, or
    from the archive.
    """
    readable = [
        item.path for folder in config_dirs for item in list_transcripts(folder) if os.access(item.path, os.R_OK)
    ]
    shards = read_shard_numbers(db)
    detach_shards(db)
    with open_write_transaction(db):
        db.execute(
            "CREATE TEMP TABLE again AS SELECT file.id FROM file JOIN json_each(?) ON file.path = value",
            (_encode_paths(readable),),
        )
        remaining: Any = db.execute("SELECT count(*) FROM file WHERE id NOT IN again").get
        for table in ("answer", "call"):
            db.execute(f"DELETE FROM {table} WHERE file IN again")
        db.execute("DELETE FROM file WHERE id IN again")
        db.execute("UPDATE file SET mtime_ns = ?", (NEVER_NS,))
        db.execute("DELETE FROM session WHERE id NOT IN (SELECT session FROM file)")
        db.execute("DELETE FROM text")
        db.execute("DELETE FROM run")
        db.execute("DELETE FROM folder")
        db.execute("DELETE FROM identifier")
        db.execute("DELETE FROM fact WHERE name = 'archive' OR name GLOB 'cut texts of file *'")
        for table in ("said", "done", "hump"):
            db.execute(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
        db.execute("DROP TABLE again")
        forget_shards(db)
        renew_spend(db, None)
    delete_shards(db, shards)
    return int(remaining)


def _encode_paths(paths: Iterable[str]) -> str:
    return json.dumps([path for path in paths if is_utf8_text(path)], ensure_ascii=False)


class DiskDifference(NamedTuple):
    """How an index differs from the files on disk."""

    faults: list[str]
    """Differences that the next command would not detect."""
    unlisted: list[str]
    """Folders and files that can't be listed or read, with the reason."""
    waiting: int
    """How many files the next command will read, or record as deleted or restored."""


def compare_with_disk(db: apsw.Connection, config_dirs: Sequence[Path]) -> DiskDifference:
    """Compare the files in an index with those on disk."""
    survey = Survey()
    on_disk = {
        item.path for folder in config_dirs for item in list_transcripts(folder, survey) if is_utf8_text(item.path)
    }
    known: dict[str, bool] = {str(path): bool(gone) for path, gone in db.execute("SELECT path, gone NOTNULL FROM file")}
    faults = [f"{path}: present, but listed as deleted in the index" for path in sorted(on_disk) if known.get(path)]
    faults += [f"{path}: not in the index" for path in sorted(on_disk - known.keys())]
    faults += [
        f"{path}: deleted after it was indexed"
        for path, is_gone in known.items()
        if not is_gone and path not in on_disk and not survey.hides(path)
    ]
    unlisted = [str(item) for item in survey.unlisted]
    unlisted += [f"{path}: not readable" for path in sorted(on_disk) if not os.access(path, os.R_OK)]
    return (
        DiskDifference([], unlisted, len(faults))
        if have_folders_changed(db, config_dirs)
        else DiskDifference(faults, unlisted, 0)
    )


def list_index_faults(db: apsw.Connection, progress: Callable[[int, int], object] = ignore_progress) -> Iterator[str]:
    """Yield the faults in an index: damage to the database itself, and files that changed unnoticed."""
    checks = (_find_file_faults, _find_text_faults, _find_stale_files)
    db.set_progress_handler(lambda: False, _MAX_UNINTERRUPTED_STEPS)  # else Ctrl-C would wait for the statement
    try:
        for number, check in enumerate(checks):
            progress(number, len(checks))
            try:
                yield from check(db)
            except (apsw.SQLError, *DAMAGE_ERRORS) as error:  # the statements are correct, so the file is damaged
                yield f"the file is damaged: {error}"
        progress(len(checks), len(checks))
    finally:
        db.set_progress_handler(None)


def is_shard_fault(fault: str) -> bool:
    """Return whether a fault is in a shard only, which is then filled again without the rest of the index."""
    return fault.startswith(SHARD_FAULT_START)


def _find_file_faults(db: apsw.Connection) -> Iterator[str]:
    yield from _find_schema_faults(db, "main")
    for number in list_attached_shards(db):
        for fault in _find_schema_faults(db, get_schema_name(number)):
            yield f"{SHARD_FAULT_START}{number}: {fault}"


def _find_schema_faults(db: apsw.Connection, schema: str) -> Iterator[str]:
    """Yield the first fault in a database: there may be one for each page, and all have the same remedy."""
    try:
        fault: Any = db.execute(f"PRAGMA {schema}.integrity_check(1)").get
    except DAMAGE_ERRORS as error:
        yield f"the file is damaged: {error}"
    else:
        if fault != "ok":
            yield f"the file is damaged: {fault.splitlines()[-1]}"


def _find_text_faults(db: apsw.Connection) -> Iterator[str]:
    yield from _find_full_text_faults(db, "main", ("said", "done", "hump"))
    for number in list_attached_shards(db):
        for fault in _find_full_text_faults(db, get_schema_name(number), ("done", "hump")):
            yield f"{SHARD_FAULT_START}{number}: {fault}"
    for number, count in find_shard_conflicts(db).items():
        difference = f"files that differ from the index: {count}; `turnlog index --wait` reads them again"
        yield f"{SHARD_FAULT_START}{number}: {difference}"


def _find_full_text_faults(db: apsw.Connection, schema: str, tables: Sequence[str]) -> Iterator[str]:
    for table in tables:
        try:
            db.execute(f"INSERT INTO {schema}.{table} ({table}) VALUES ('integrity-check')")
        except apsw.CorruptError as error:
            yield f"the full-text table `{table}` is damaged: {error}"
    for table in tables[:-1]:
        try:
            lost = db.execute(
                f"SELECT count(*) FROM {schema}.{table} WHERE rowid NOT IN (SELECT id FROM {schema}.text)",
            ).get
        except DAMAGE_ERRORS as error:
            yield f"the table `text` is damaged: {error}"
        else:
            if lost:
                yield f"{lost} rows in `{table}` do not belong to any text"


def _find_stale_files(db: apsw.Connection) -> Iterator[str]:
    columns = "path, offset, inode, size, mtime_ns, head_hash, tail_hash, generation"
    for path, *rest in db.execute(f"SELECT {columns} FROM file WHERE gone IS NULL"):
        checkpoint = Checkpoint(*rest)
        if not checkpoint.offset:
            continue
        try:
            reason = find_stale_reason(path, checkpoint)
        except OSError:  # `compare_with_disk` reports it
            continue
        if reason:
            yield f"{path}: {_RESET_REASONS[reason]} after it was indexed; the next command reads it again"


def tidy_index(db: apsw.Connection) -> None:
    """Merge the pieces of the full-text tables and release unused space."""
    numbers = list_attached_shards(db)
    detach_shards(db)  # SQLite can't rebuild a table while a view has the same name
    _tidy_database(db, ("said", "done"))
    for number in numbers:
        shard = open_shard(Path(db.filename), number)
        try:
            _tidy_database(shard, ("done",))
        finally:
            shard.close()
    attach_shards(db)


def _tidy_database(db: apsw.Connection, tables: Iterable[str]) -> None:
    for table in tables:
        db.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
    db.execute("VACUUM")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
