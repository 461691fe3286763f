"""Fills the shards of an index, each in a process of its own.

The processes end when this one closes their standard input, and so also when it dies: they look at it after each piece.
If one of them fails, this process goes on with its shard, and meets the reason itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import apsw

from turnlog.store.database_damage import DAMAGE_ERRORS
from turnlog.store.file_lock import open_write_transaction
from turnlog.store.index.coverage import list_unfilled_files
from turnlog.store.index.file_changes import ChangedFile
from turnlog.store.index.shard_repair import drop_shards, note_shard_progress, reconcile_shards
from turnlog.store.index.shard_writer import ShardTask, fill_shard
from turnlog.store.index.shards import add_shard, get_schema_name, list_attached_shards

MIN_SHARD_BYTES = 32 << 20
"""Less than this is written to the index itself."""
MIN_PROCESS_BYTES = 8 << 20
"""The minimum number of bytes that justifies processes of their own."""
MAX_SHARDS = 8
_POLL_SECONDS = 0.02
_NOTE_SECONDS = 2.0
"""How often the index takes note of what its shards contain."""
_STATE_QUERY = "SELECT id, shard, filled, bound, room FROM main.file WHERE filled < offset AND gone IS NULL"

FillProgress = Callable[[int, int], None]
"""Called with the number of bytes done and the total."""


def count_shard_workers() -> int:
    """Return how many processes may fill shards at the same time."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(cores, MAX_SHARDS)


def assign_files(db: apsw.Connection, files: Sequence[ChangedFile], reserve: Callable[[int], int]) -> dict[int, int]:
    """Assign files to shards; return the bytes that each shard has to read. The caller must hold the lock.

    A file stays in its shard as long as the index itself has no later part of it. Files that are close in time go to
    different shards, so that all of them are filled from the newest file on.
    """
    states: dict[int, Any] = {file: rest for file, *rest in db.execute(_STATE_QUERY)}
    total = sum(item.more for item in files)
    shares: dict[int, int] = {}
    rows: list[tuple[int, int, int]] = []
    fresh: list[ChangedFile] = []
    for item in files:
        shard, filled, bound, room = states[item.file]
        if shard is not None and filled <= bound:
            shares[shard] = shares.get(shard, 0) + item.more
            rows.append((shard, room or reserve(item.size), item.file))
        elif shard is None and filled == 0 and total > MIN_SHARD_BYTES:
            fresh.append(item)
    if fresh:
        chosen = _choose_shards(db)
        for item in reversed(fresh):
            shard = min(chosen, key=lambda number: shares.get(number, 0))
            shares[shard] = shares.get(shard, 0) + item.more
            rows.append((shard, states[item.file][3] or reserve(item.size), item.file))
    with open_write_transaction(db):
        db.executemany("UPDATE main.file SET shard = ?, bound = offset, room = ? WHERE id = ?", rows)
        for number in shares:  # what failed before is tried again
            db.execute(f"UPDATE {get_schema_name(number)}.fill SET failed = 0 WHERE failed")
    return shares


def _choose_shards(db: apsw.Connection) -> list[int]:
    """Return a shard for each worker, the smallest ones first; add shards if there are too few."""
    while len(list_attached_shards(db)) < min(count_shard_workers(), MAX_SHARDS):
        add_shard(db)
    numbers = list_attached_shards(db)
    numbers.sort(key=lambda number: db.pragma("page_count", schema=get_schema_name(number)))
    return numbers[: count_shard_workers()]


def fill_shards(
    db: apsw.Connection,
    shares: Mapping[int, int],
    progress: FillProgress,
    is_stopped: Callable[[], bool],
    task: ShardTask = "all",
) -> None:
    """Fill shards; the caller must hold the lock of the index.

    A shard that turns out to be damaged is given up: its files are read again by the next refresh.
    """
    run = _ShardRun(db, shares, progress, is_stopped, task)
    try:
        run.fill_all()
    finally:
        note_shard_progress(db)


class _ShardRun:
    def __init__(
        self,
        db: apsw.Connection,
        shares: Mapping[int, int],
        progress: FillProgress,
        is_stopped: Callable[[], bool],
        task: ShardTask,
    ) -> None:
        self.db = db
        self.task: ShardTask = task
        self.index = Path(db.filename)
        self.shares = shares
        self.total = sum(shares.values())
        self.progress = progress
        self.is_stopped = is_stopped
        self.done: dict[int, int] = {}
        self.running: list[_ShardProcess] = []
        self.noted = time.monotonic()

    def fill_all(self) -> None:
        """Fill as many shards at once as there are cores: this process one after the other, and others one each."""
        waiting = sorted(self.shares, key=self.shares.__getitem__)
        is_large = self.total > MIN_PROCESS_BYTES
        try:
            while (waiting or self.running) and not self.is_stopped():
                while is_large and len(waiting) > 1 and len(self.running) < count_shard_workers() - 1:
                    try:
                        process = _ShardProcess(self.index, waiting[-1], self.task)
                    except OSError:  # a limit on processes; this one fills one shard after the other
                        break
                    waiting.pop()
                    self.running.append(process)
                if waiting:
                    self._fill_here(waiting.pop())
                else:
                    time.sleep(_POLL_SECONDS)
                    self._look_around()
                waiting += self._collect_failed()
        finally:
            for process in self.running:
                process.ask_to_stop()
            for process in self.running:
                process.stop()

    def _fill_here(self, number: int) -> None:
        before = self.done.get(number, 0)

        def note_bytes(done: int) -> None:
            self.done[number] = before + done
            self._look_around()

        try:
            fill_shard(self.index, number, note_bytes, self.is_stopped, self.task)
        except DAMAGE_ERRORS:
            drop_shards(self.db, [number])
        note_shard_progress(self.db)

    def _look_around(self) -> None:
        """Report the progress of all, and take note of what the shards contain from time to time."""
        self.done.update({process.number: process.done for process in self.running})
        self.progress(min(sum(self.done.values()), self.total), self.total)
        if time.monotonic() - self.noted > _NOTE_SECONDS:
            note_shard_progress(self.db)
            self.noted = time.monotonic()

    def _collect_failed(self) -> list[int]:
        """Remove the processes that have ended; return the shards of those that failed, which this process fills."""
        ended = [process for process in self.running if process.has_ended()]
        self.running = [process for process in self.running if process not in ended]
        return [process.number for process in ended if not process.stop()]


class _ShardProcess:
    """A process that fills a shard."""

    def __init__(self, index: Path, number: int, task: ShardTask = "all") -> None:
        self.number = number
        self.done = 0
        """How many bytes it has read."""
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "turnlog.store.shard_process", str(index), str(number), task],
            cwd=index.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=os.name == "posix",  # Ctrl-C is for this process
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input: IO[bytes] = self._process.stdin
        self._output: IO[bytes] = self._process.stdout
        self._thread = threading.Thread(target=self._read_progress, daemon=True)
        self._thread.start()

    def _read_progress(self) -> None:
        for line in self._output:
            with suppress(ValueError):
                self.done = int(line)

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def ask_to_stop(self) -> None:
        """Let it commit what it has read."""
        with suppress(OSError):
            self._input.close()

    def stop(self) -> bool:
        """Wait until it has ended; return whether it did its work."""
        self.ask_to_stop()
        status = self._process.wait()
        self._thread.join()
        self._output.close()
        return status == 0


def measure_unnamed_bytes(db: apsw.Connection) -> dict[int, int]:
    """Return the bytes of each shard whose identifiers are unknown."""
    query = "SELECT coalesce(sum(filled - named), 0) FROM {name}.fill WHERE named < filled"
    sizes: dict[int, Any] = {
        number: db.execute(query.format(name=get_schema_name(number))).get for number in list_attached_shards(db)
    }
    return {number: size for number, size in sizes.items() if size}


def prepare_shares(
    db: apsw.Connection, reserve: Callable[[int], int], *, includes_failed: bool
) -> tuple[dict[int, int], list[ChangedFile]]:
    """Make index and shards agree, and assign the files that are not filled yet.

    Return the bytes of each shard, and the files whose rest belongs to the index itself.
    """
    reconcile_shards(db)
    files = list_unfilled_files(db, includes_failed=includes_failed)
    if not files:
        return {}, []
    shares = assign_files(db, files, reserve)
    rows = db.execute("SELECT id FROM main.file WHERE shard IS NOT NULL AND filled < bound")
    in_shards = {file for (file,) in rows}
    return shares, [item for item in files if item.file not in in_shards]
