"""Reads the rest of files and writes it to one shard, newest files first, in complete steps.

A writer reads and writes in one process. What it has committed, and how far, is in the shard's own table `fill`; the
index takes note of that later (`shard_repair`), so a writer touches the index only to give a new name a number.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Literal

import apsw

from turnlog.entries.reader import pause_garbage_collector
from turnlog.entries.tail import Checkpoint
from turnlog.entries.worker_processes import retain_freed_memory
from turnlog.session.texts.outline import TranscriptOutline
from turnlog.store.file_lock import open_write_transaction
from turnlog.store.index.batch_reader import IndexBatch, ReadTask
from turnlog.store.index.batch_writer import insert_texts, write_identifiers
from turnlog.store.index.full_text_pieces import set_piece_merging
from turnlog.store.index.name_numbers import SharedNameNumbers
from turnlog.store.index.rest_reader import read_rest
from turnlog.store.index.shards import open_shard

MAX_COMMIT_SECONDS = 10.0
"""How much work is lost when a writer is killed."""
MAX_STEP_BYTES = 192 << 20
"""Files of up to this size are written in ascending order, so that the full-text table keeps them in memory."""
_TASK_QUERY = """
    SELECT file.id, path, kind, session, project, filled, room, offset, inode, size, mtime_ns, head_hash, tail_hash,
        generation
    FROM file JOIN session ON session.id = file.session
    WHERE file.shard = ? AND filled < bound AND gone IS NULL AND room > 0 ORDER BY room, file.id
"""
_CALL_QUERY = "SELECT id, tool, path, shown FROM main.call WHERE file = ?"
_FILE_QUERY = """
    SELECT path, kind, session, project, offset, inode, size, mtime_ns, head_hash, tail_hash, generation
    FROM file JOIN session ON session.id = file.session WHERE file.id = ? AND file.shard = ? AND generation = ?
"""
_NOTE_PROGRESS = """
    INSERT INTO fill VALUES (?1, ?2, ?3, ?4, iif(?5, ?3, 0), 0) ON CONFLICT DO UPDATE SET
        generation = excluded.generation, filled = excluded.filled, room = excluded.room, failed = 0,
        named = iif(?5 AND named = filled, excluded.filled, named)
"""
_NOTE_FAILURE = """
    INSERT INTO fill VALUES (?1, ?2, ?3, ?4, iif(?5, ?3, 0), 1)
    ON CONFLICT DO UPDATE SET generation = excluded.generation, failed = 1
"""
_UNNAMED_QUERY = "SELECT file, generation, named, filled FROM fill WHERE named < filled ORDER BY room DESC"


ShardTask = Literal["all", "texts", "identifiers"]
"""What a writer does: `texts` leaves out the identifiers, which take a quarter of the time; `identifiers` finds them in
a run of its own."""


def fill_shard(
    index: Path,
    number: int,
    progress: Callable[[int], object],
    is_stopped: Callable[[], bool] = lambda: False,
    task: ShardTask = "all",
) -> None:
    """Read what a shard still lacks, or until `is_stopped` returns True; `progress` gets the bytes done so far."""
    with closing(open_shard(index, number)) as db, closing(_open_index(index)) as source:
        writer = _ShardWriter(db, source, number, progress, is_stopped, task)
        with pause_garbage_collector():
            retain_freed_memory()
            set_piece_merging(db, is_on=False, tables=["done"])
            try:
                writer.run_identifiers() if task == "identifiers" else writer.run()
            finally:
                set_piece_merging(db, is_on=True, tables=["done"])


def _open_index(index: Path) -> apsw.Connection:
    db = apsw.Connection(str(index), flags=apsw.SQLITE_OPEN_READWRITE)
    db.set_busy_timeout(60_000)
    db.pragma("synchronous", "full")  # a power cut must not take back the number of a name that a shard already uses
    return db


class _ShardWriter:
    def __init__(
        self,
        db: apsw.Connection,
        source: apsw.Connection,
        number: int,
        progress: Callable[[int], object],
        is_stopped: Callable[[], bool],
        task: ShardTask,
    ) -> None:
        self.db = db
        self.finds_identifiers = task != "texts"
        self.source = source
        self.number = number
        self.progress = progress
        self.is_stopped = is_stopped
        self.names = SharedNameNumbers(source)
        self.done = 0

    def run(self) -> None:
        with open_write_transaction(self.db):
            pass  # wait for a writer whose coordinator died
        for step in self._plan_steps():
            with closing(self._iter_batches(step)) as batches:
                self._commit_until_end(partial(self._write_until_commit, batches))

    def run_identifiers(self) -> None:
        """Find the identifiers in texts that were written without them."""
        with open_write_transaction(self.db):
            rows: list[Any] = self.db.execute(_UNNAMED_QUERY).fetchall()
        tasks = [task for row in rows if (task := self._build_identifier_task(*row))]
        ends = {file: filled for file, _, _, filled in rows}
        with closing(self._iter_batches(tasks)) as batches:
            self._commit_until_end(partial(self._write_identifiers, batches, ends))

    def _commit_until_end(self, write: Callable[[], bool]) -> None:
        is_over = False
        while not is_over and not self.is_stopped():
            with open_write_transaction(self.db):
                # Whoever stops a writer waits for this transaction; what starts later must see that it is over.
                is_over = self.is_stopped() or write()

    def _build_identifier_task(self, file: int, generation: int, named: int, filled: int) -> ReadTask | None:
        row: Any = self.source.execute(_FILE_QUERY, (file, self.number, generation)).fetchone()
        if row is None:
            return None  # its rows are about to be deleted
        path, kind, session, project, *rest = row
        return ReadTask(
            file,
            path,
            kind,
            session,
            project,
            Checkpoint(*rest),
            TranscriptOutline(),
            {},
            set(),
            part="rest",
            filled=named,
        )

    def _write_identifiers(self, batches: Iterator[IndexBatch], ends: dict[int, int]) -> bool:
        """Write identifiers until it is time to commit; return whether there are no more."""
        identifiers: set[str] = set()
        until = time.monotonic() + MAX_COMMIT_SECONDS
        is_end = True
        for batch in batches:
            # Without the file, its identifiers stay unknown; a later part of it is in the index, with its identifiers.
            named = ends[batch.file] if batch.failure else min(batch.filled, ends[batch.file])
            identifiers.update(batch.take_new_identifiers(self.names))
            self.db.execute("UPDATE fill SET named = ? WHERE file = ?", (named, batch.file))
            self.done += batch.size
            self.progress(self.done)
            if self.is_stopped() or time.monotonic() >= until:
                is_end = False
                break
        write_identifiers(self.db, identifiers)
        return is_end

    def _plan_steps(self) -> Iterator[list[ReadTask]]:
        """Yield the files in groups, the newest group first."""
        steps: list[list[ReadTask]] = [[]]
        size = 0
        for task in map(self._build_task, self.source.execute(_TASK_QUERY, (self.number,)).fetchall()):
            if size > MAX_STEP_BYTES:
                steps.append([])
                size = 0
            steps[-1].append(task)
            size += task.checkpoint.offset - task.filled
        yield from reversed(steps)

    def _build_task(self, row: Any) -> ReadTask:
        file, path, kind, session, project, filled, room, *rest = row
        checkpoint = Checkpoint(*rest)
        known: Any = self.db.execute(
            "SELECT filled, room FROM fill WHERE file = ? AND generation = ?", (file, checkpoint.generation)
        ).fetchone()
        if known is not None:
            filled, room = max(filled, known[0]), max(room, known[1])
        return ReadTask(
            file,
            path,
            kind,
            session,
            project,
            checkpoint,
            TranscriptOutline(),
            {},
            set(),
            part="rest",
            filled=filled,
            room=room,
            leaves_identifiers=not self.finds_identifiers,
        )

    def _iter_batches(self, tasks: list[ReadTask]) -> Generator[IndexBatch]:
        for task in tasks:
            yield from read_rest(self._add_calls(task) if task.filled else task, self.names)

    def _add_calls(self, task: ReadTask) -> ReadTask:
        """Add the calls of the part that was read earlier."""
        rows: list[Any] = self.db.execute(_CALL_QUERY, (task.file,)).fetchall()
        tools = {call: tool for call, tool, *_ in rows if tool is not None}
        files = {named if shown == "=" else shown for *_, named, shown in rows if shown is not None}
        return task._replace(calls=tools, files=files)

    def _write_until_commit(self, batches: Iterator[IndexBatch]) -> bool:
        """Write batches until it is time to commit; return whether there are no more."""
        identifiers: set[str] = set()
        until = time.monotonic() + MAX_COMMIT_SECONDS
        is_end = True
        for batch in batches:
            row = (batch.file, batch.checkpoint.generation, batch.filled, batch.room, self.finds_identifiers)
            if batch.failure:
                self.db.execute(_NOTE_FAILURE, row)
                continue
            if self.finds_identifiers:
                identifiers.update(batch.take_new_identifiers(self.names))
            insert_texts(self.db, batch)
            self.db.execute(_NOTE_PROGRESS, row)
            self.done += batch.size
            self.progress(self.done)
            if self.is_stopped() or time.monotonic() >= until:
                is_end = False
                break
        write_identifiers(self.db, identifiers)
        return is_end
