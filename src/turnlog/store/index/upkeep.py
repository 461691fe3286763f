"""Emptying, checking and tidying an index."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from turnlog.entries.tail import Checkpoint, stale
from turnlog.store.index.spend import renew
from turnlog.store.lock import DAMAGED, writing

_WHY = {
    "missing": "was deleted",
    "truncated": "was cut",
    "replaced": "was replaced",
    "rewritten": "was written over",
}


def empty(db: apsw.Connection) -> int:
    """Take out what can be read again, so that the next refresh reads it; gives how many files are gone and stay.

    Of those that are gone, only what can be counted stays: their texts are nowhere, unless they are in the archive.
    """
    with writing(db):
        kept = db.execute("SELECT count(*) FROM file WHERE gone IS NOT NULL").get
        db.execute("CREATE TEMP TABLE again AS SELECT id FROM file WHERE gone IS NULL")
        for table in ("text", "answer", "call"):
            db.execute(f"DELETE FROM {table} WHERE file IN again")
        db.execute("DELETE FROM file WHERE id IN again")
        db.execute("DELETE FROM session WHERE id NOT IN (SELECT session FROM file)")
        db.execute("DELETE FROM text")
        db.execute("DELETE FROM folder")
        db.execute("DELETE FROM identifier")
        db.execute("DELETE FROM fact WHERE name = 'archive'")
        for table in ("said", "done", "hump"):
            db.execute(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
        db.execute("DROP TABLE again")
        renew(db, None)
    return int(kept)


def verify(db: apsw.Connection) -> Iterator[str]:
    """What is wrong with an index: the file itself, or what it says of files that were changed behind its back."""
    for check in (_file_faults, _text_faults, _stale_files):
        try:
            yield from check(db)
        except DAMAGED as error:
            yield f"the file is damaged: {error}"


def _file_faults(db: apsw.Connection) -> Iterator[str]:
    for (fault,) in db.execute("PRAGMA integrity_check"):
        if fault != "ok":
            yield f"the file is damaged: {fault}"


def _text_faults(db: apsw.Connection) -> Iterator[str]:
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


def _stale_files(db: apsw.Connection) -> Iterator[str]:
    columns = "path, offset, inode, size, mtime_ns, head_hash, tail_hash, generation"
    for path, *rest in db.execute(f"SELECT {columns} FROM file WHERE gone IS NULL"):
        checkpoint = Checkpoint(*rest)
        if checkpoint.offset and (reason := stale(path, checkpoint)):
            yield f"{path}: {_WHY[reason]} since it was read; the next command reads it again"


def tidy(db: apsw.Connection) -> None:
    """Merge the pieces of the full-text tables and give unused space back."""
    for table in ("said", "done"):
        db.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
    db.execute("VACUUM")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
