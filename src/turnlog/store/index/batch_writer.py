"""Writes batches to the index.

The caller must have started a transaction, so a batch is written completely or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any

import apsw
import msgspec

from turnlog.session.texts.outline import TranscriptOutline
from turnlog.store.index.batch_reader import CallRow, IndexBatch
from turnlog.store.index.name_numbers import NameRow
from turnlog.store.index.shards import copy_calls_from_shard, list_schemas, release_from_shard
from turnlog.store.index.words import join_identifier_parts

_OUTLINE_FIELDS = TranscriptOutline.__struct_fields__
_CHECKPOINT_FIELDS = ["offset", "inode", "size", "mtime_ns", "head_hash", "tail_hash", "generation"]
_FILE_COLUMNS = ", ".join(f"{name} = ?" for name in ["session", *_CHECKPOINT_FIELDS, *_OUTLINE_FIELDS])
_UPDATE_FILE = f"UPDATE file SET gone = NULL, filled = ?, room = ?, {_FILE_COLUMNS} WHERE id = ?"
# apsw looks up a statement by its text for every row, so that a long one costs as much as the row itself.
_INSERT_ANSWER = f"INSERT INTO answer VALUES ({','.join('?' * 18)})"
_MERGE_ANSWER = " ".join(
    f"""
    {_INSERT_ANSWER} ON CONFLICT DO UPDATE SET
        last = max(last, excluded.last),
        input = max(input, excluded.input),
        output = max(output, excluded.output),
        cache_read = max(cache_read, excluded.cache_read),
        cache_write = max(cache_write, excluded.cache_write),
        cache_write_1h = max(cache_write_1h, excluded.cache_write_1h),
        searches = max(searches, excluded.searches),
        terms = coalesce(excluded.terms, terms),
        lowest = CASE WHEN excluded.lowest < 0 THEN lowest WHEN lowest < 0 THEN excluded.lowest
                 ELSE min(lowest, excluded.lowest) END,
        stopped = max(stopped, excluded.stopped),
        sidechain = excluded.sidechain,
        version = excluded.version,
        letters = letters + excluded.letters,
        requests = coalesce(excluded.requests, requests)
""".split()
)
_INSERT_CALL = f"INSERT INTO main.call VALUES ({','.join('?' * 10)})"
_MERGE_CALL = " ".join(
    f"""
    {_INSERT_CALL} ON CONFLICT DO UPDATE SET
        started = iif(tool IS NULL, excluded.started, started),
        given = iif(tool IS NULL, excluded.given, given),
        path = iif(tool IS NULL, excluded.path, path),
        tool = coalesce(tool, excluded.tool),
        ended = iif(got IS NULL, excluded.ended, ended),
        failed = iif(got IS NULL, excluded.failed, failed),
        got = coalesce(got, excluded.got),
        shown = iif(coalesce(excluded.shown, shown) IN ('=', iif(tool IS NULL, excluded.path, path)), '=',
                    coalesce(excluded.shown, shown))
""".split()
)
_CUT_TEXTS_FACT = "cut texts of file "
"""The prefix of facts that count texts longer than their searchable part."""


def write_batch(db: apsw.Connection, batch: IndexBatch, model_ids: dict[str, int]) -> bool:
    """Add a batch; return whether it reveals that the file is a fork, which is not charged for copied messages."""
    if batch.part == "rest":
        _write_rest(db, batch, model_ids)
        return False
    was_forked = db.execute("SELECT forked_from IS NOT NULL FROM file WHERE id = ?", (batch.file,)).get
    _insert_names(db, batch.names, model_ids)
    progress = batch.filled, batch.room, batch.session, *batch.checkpoint
    db.execute(_UPDATE_FILE, (*progress, *msgspec.structs.astuple(batch.outline), batch.file))
    _insert_answers(db, batch, model_ids)
    _insert_main_texts(db, batch)
    return not was_forked and batch.outline.forked_from is not None


def _write_rest(db: apsw.Connection, batch: IndexBatch, model_ids: dict[str, int]) -> None:
    """Add what was left out when the conversation was read."""
    _insert_names(db, batch.names, model_ids)
    db.execute("UPDATE file SET filled = ?, room = ? WHERE id = ?", (batch.filled, batch.room, batch.file))
    _insert_main_texts(db, batch)


def _insert_main_texts(db: apsw.Connection, batch: IndexBatch) -> None:
    if batch.calls and not batch.is_first:
        copy_calls_from_shard(db, batch.file, batch.calls)
    insert_texts(db, batch)


def insert_texts(db: apsw.Connection, batch: IndexBatch) -> None:
    """Add the calls and texts of a batch, to an index or to a shard."""
    calls = [_to_call_values(batch.file, call) for call in batch.calls.values()]
    db.executemany(_INSERT_CALL if batch.is_first else _MERGE_CALL, calls)
    db.executemany("INSERT INTO main.text VALUES (?,?,?,?,?)", batch.places)
    if batch.places:  # a piece has all numbers from its first to its last
        db.execute("INSERT INTO main.run VALUES (?,?,?)", (batch.file, batch.places[0][0], batch.places[-1][0]))
    for table, words in (("said", batch.said), ("done", batch.done)):
        db.executemany(f"INSERT INTO main.{table} (rowid, words, paths, facet) VALUES (?,?,?,?)", words)
    if batch.cut:
        sql = "INSERT INTO main.fact VALUES (?, ?) ON CONFLICT DO UPDATE SET value = value + excluded.value"
        db.execute(sql, (f"{_CUT_TEXTS_FACT}{batch.file}", batch.cut))


def write_identifiers(db: apsw.Connection, names: Collection[str]) -> None:
    """Add the parts of identifiers that are new to the index."""
    if not names:
        return
    query = "SELECT value FROM json_each(?) WHERE value NOT IN (SELECT name FROM main.identifier) ORDER BY value"
    rows: list[Any] = db.execute(query, (json.dumps(list(names)),)).fetchall()
    # An identifier without parts is a random id, and there would be no end to those.
    fresh = [(name, parts) for (name,) in rows if (parts := join_identifier_parts(name))]
    last: Any = db.execute("SELECT coalesce(max(id), 0) FROM main.identifier").get
    numbers = range(last + 1, last + 1 + len(fresh))
    db.executemany("INSERT INTO main.identifier VALUES (?, ?)", zip(numbers, (name for name, _ in fresh), strict=True))
    pieces = zip(numbers, (parts for _, parts in fresh), strict=True)
    db.executemany("INSERT INTO main.hump (rowid, parts) VALUES (?, ?)", pieces)


def list_answer_keys(db: apsw.Connection, file: int) -> set[str]:
    """Return the keys of a file's messages."""
    return {str(key) for (key,) in db.execute("SELECT key FROM answer WHERE file = ?", (file,))}


def _to_call_values(file: int, call: CallRow) -> tuple[object, ...]:
    shown = "=" if call.shown is not None and call.shown == call.path else call.shown
    return (call.id, file, *msgspec.structs.astuple(call)[1:-1], shown)


def _insert_names(db: apsw.Connection, names: Iterable[NameRow], model_ids: dict[str, int]) -> None:
    db.executemany("INSERT INTO name (id, kind, text) VALUES (?, ?, ?)", names)
    model_ids.update({name.text: name.id for name in names if name.kind == "model"})


def _insert_answers(db: apsw.Connection, batch: IndexBatch, model_ids: dict[str, int]) -> None:
    rows = [
        (key, batch.file, model_ids.get(best.model or ""), *msgspec.structs.astuple(best)[1:])
        for key, best in batch.answers.items()
    ]
    db.executemany(_INSERT_ANSWER if batch.is_first else _MERGE_ANSWER, rows)


def release_file(db: apsw.Connection, file: int) -> list[int]:
    """Delete all rows of a file except its own row and its words; return the ids of its texts."""
    release_from_shard(db, file)
    texts: list[int] = []
    runs: list[Any] = db.execute("SELECT first, last FROM main.run WHERE file = ?", (file,)).fetchall()
    for first, last in runs:
        texts += range(first, last + 1)
        db.execute("DELETE FROM main.text WHERE id BETWEEN ? AND ?", (first, last))
    for table in ("run", "answer", "call"):
        db.execute(f"DELETE FROM main.{table} WHERE file = ?", (file,))
    db.execute("DELETE FROM main.fact WHERE name = ?", (f"{_CUT_TEXTS_FACT}{file}",))
    return texts


def count_cut_texts(db: apsw.Connection) -> int:
    """Count the texts in an index that are longer than their searchable part."""
    counts: list[Any] = [
        db.execute(f"SELECT coalesce(sum(value), 0) FROM {name}.fact WHERE name GLOB ?", (f"{_CUT_TEXTS_FACT}*",)).get
        for name in list_schemas(db)
    ]
    return sum(counts)


def drop_text_words(db: apsw.Connection, texts: Collection[int]) -> None:
    """Delete the words of the given texts from the full-text tables; FTS5 first flushes its pending rows."""
    # Each text is in one of the two tables; deleting a row that a table lacks does nothing.
    for table in ("said", "done"):
        which = "rowid IN (SELECT value FROM json_each(?))"
        db.execute(f"DELETE FROM main.{table} WHERE {which}", (json.dumps(list(texts)),))
