"""Emptying, checking and tidying an index."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from turnlog.entries.layout import Survey
from turnlog.entries.tail import Checkpoint, find_stale_reason
from turnlog.entries.transcript_files import list_transcripts
from turnlog.store.database_damage import DAMAGE_ERRORS
from turnlog.store.file_lock import open_write_transaction
from turnlog.store.index.file_changes import have_folders_changed, is_utf8_text
from turnlog.store.index.spend_table import renew_spend

_RESET_REASONS = {
    "missing": "was deleted",
    "truncated": "was cut",
    "replaced": "was replaced",
    "rewritten": "was written over",
}


NEVER_NS = -1
"""The time of a file whose texts were taken out while it could not be read: it is read again once it can be."""


def empty_index(db: apsw.Connection, config_dirs: Sequence[Path]) -> int:
    """Take out what can be read again, so that the next refresh reads it; gives how many files can't be and stay.

    Of a file that is gone, or that can't be read now, what was counted stays. Its texts come back with the file, or
    from the archive.
    """
    readable = [
        item.path for folder in config_dirs for item in list_transcripts(folder) if os.access(item.path, os.R_OK)
    ]
    with open_write_transaction(db):
        db.execute(
            "CREATE TEMP TABLE again AS SELECT file.id FROM file JOIN json_each(?) ON file.path = value",
            (_encode_paths(readable),),
        )
        kept: Any = db.execute("SELECT count(*) FROM file WHERE id NOT IN again").get
        for table in ("text", "answer", "call"):
            db.execute(f"DELETE FROM {table} WHERE file IN again")
        db.execute("DELETE FROM file WHERE id IN again")
        db.execute("UPDATE file SET mtime_ns = ?", (NEVER_NS,))
        db.execute("DELETE FROM session WHERE id NOT IN (SELECT session FROM file)")
        db.execute("DELETE FROM text")
        db.execute("DELETE FROM folder")
        db.execute("DELETE FROM identifier")
        db.execute("DELETE FROM fact WHERE name = 'archive' OR name GLOB 'cut texts of file *'")
        for table in ("said", "done", "hump"):
            db.execute(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
        db.execute("DROP TABLE again")
        renew_spend(db, None)
    return int(kept)


def _encode_paths(paths: Iterable[str]) -> str:
    return json.dumps([path for path in paths if is_utf8_text(path)], ensure_ascii=False)


class DiskDifference(NamedTuple):
    """How an index differs from the files on disk."""

    faults: list[str]
    """What the next command would not notice by itself."""
    unlisted: list[str]
    """Folders and files that can't be looked at, with the reason."""
    waiting: int
    """How many files the next command will read, or note as deleted or back."""


def compare_with_disk(db: apsw.Connection, config_dirs: Sequence[Path]) -> DiskDifference:
    """Compare the files that an index knows with those that are there."""
    survey = Survey()
    there = {
        item.path for folder in config_dirs for item in list_transcripts(folder, survey) if is_utf8_text(item.path)
    }
    known: dict[str, bool] = {str(path): bool(gone) for path, gone in db.execute("SELECT path, gone NOTNULL FROM file")}
    faults = [f"{path}: exists, and the index has it as deleted" for path in sorted(there) if known.get(path)]
    faults += [f"{path}: is not in the index" for path in sorted(there - known.keys())]
    faults += [
        f"{path}: was deleted since it was read"
        for path, is_gone in known.items()
        if not is_gone and path not in there and not survey.hides(path)
    ]
    unlisted = [str(item) for item in survey.unlisted]
    unlisted += [f"{path}: can't be read" for path in sorted(there) if not os.access(path, os.R_OK)]
    return (
        DiskDifference([], unlisted, len(faults))
        if have_folders_changed(db, config_dirs)
        else DiskDifference(faults, unlisted, 0)
    )


def list_index_faults(db: apsw.Connection) -> Iterator[str]:
    """What is wrong with an index: the file itself, or what it says of files that were changed behind its back."""
    for check in (_find_file_faults, _find_text_faults, _find_stale_files):
        try:
            yield from check(db)
        except (apsw.SQLError, *DAMAGE_ERRORS) as error:  # the statements are sound, so the file is not
            yield f"the file is damaged: {error}"


def _find_file_faults(db: apsw.Connection) -> Iterator[str]:
    for (fault,) in db.execute("PRAGMA integrity_check"):
        if fault != "ok":
            yield f"the file is damaged: {fault}"


def _find_text_faults(db: apsw.Connection) -> Iterator[str]:
    for table in ("said", "done", "hump"):
        try:
            db.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
        except apsw.CorruptError as error:
            yield f"the full-text table `{table}` is damaged: {error}"
    for table in ("said", "done"):
        lost = db.execute(
            f"SELECT count(*) FROM {table} WHERE rowid NOT IN (SELECT id FROM text)",
        ).get
        if lost:
            yield f"{lost} rows of `{table}` belong to no text"


def _find_stale_files(db: apsw.Connection) -> Iterator[str]:
    columns = "path, offset, inode, size, mtime_ns, head_hash, tail_hash, generation"
    for path, *rest in db.execute(f"SELECT {columns} FROM file WHERE gone IS NULL"):
        checkpoint = Checkpoint(*rest)
        if not checkpoint.offset:
            continue
        try:
            reason = find_stale_reason(path, checkpoint)
        except OSError:  # `compare_with_disk` says so
            continue
        if reason:
            yield f"{path}: {_RESET_REASONS[reason]} since it was read; the next command reads it again"


def tidy_index(db: apsw.Connection) -> None:
    """Merge the pieces of the full-text tables and give unused space back."""
    for table in ("said", "done"):
        db.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
    db.execute("VACUUM")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
