"""Reads what changed and writes it to the index, newest files first, in complete steps."""

from __future__ import annotations

import itertools
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from turnlog.entries.agents import read_agent_owner
from turnlog.entries.reader import pause_garbage_collector
from turnlog.entries.tail import Checkpoint
from turnlog.entries.transcript_files import is_loose_agent
from turnlog.entries.worker_processes import count_cores, produce_ahead, retain_freed_memory
from turnlog.session.texts.outline import TranscriptOutline
from turnlog.store.file_lock import open_write_transaction
from turnlog.store.index.batch_reader import MIN_TEXT_BYTES, IndexBatch, ReadTask, TextPart, read_batches
from turnlog.store.index.batch_writer import (
    drop_text_words,
    list_answer_keys,
    release_file,
    write_batch,
    write_identifiers,
)
from turnlog.store.index.file_changes import ChangedFile, get_session_number
from turnlog.store.index.full_text_pieces import join_said_pieces, set_piece_merging
from turnlog.store.index.name_numbers import NameNumbers
from turnlog.store.index.rest_reader import read_rest
from turnlog.store.index.spend_table import UNKNOWN_HOUR, StaleSpend, find_stale_spend, renew_spend

RefreshProgress = Callable[[int, int], None]
"""Called with the number of bytes done and the total."""
MAX_STEP_BYTES = 192 << 20
"""How many bytes are read between two commits, unless `CommitLimits` sets a different number: a commit of full-text
tables is expensive, no matter how little it contains.
"""
MIN_PARALLEL_BYTES = 2 << 20
"""The minimum number of bytes that justifies a second process."""
MAX_BYTES_WITH_MERGING = 24 << 20
"""Above this size, pieces are not merged during the refresh, because the next step would have to merge them again."""
_MAX_UNJOINED_COMMITS = 3
"""After more commits, the pieces of a full-text table are merged to keep searches fast."""
_INTERRUPT_SIGNALS = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if sys.platform != "win32" else [])]
_OUTLINE_FIELDS = TranscriptOutline.__struct_fields__


class CommitLimits(NamedTuple):
    """The maximum amount of work that is lost when the program is killed; only tests change the defaults."""

    files: int = 4000
    seconds: float = 10.0


class RefreshWork:
    def __init__(
        self,
        db: apsw.Connection,
        progress: RefreshProgress,
        total: int,
        limits: CommitLimits = CommitLimits(),  # noqa: B008
        *,
        part: TextPart = "all",
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.db = db
        self.part = part
        self._is_stopped = is_stopped
        self._rooms: dict[int, int] = {}
        """The numbers for the rest of files of which only the conversation is read."""
        self.limits = limits
        self.names = NameNumbers.load(db)
        self.model_ids = {text: number for number, text in db.execute("SELECT id, text FROM name WHERE kind = 'model'")}
        self.progress = progress
        self.total = total
        self.done = 0
        self.unread: list[str] = []
        self.moved: dict[int, int] = {}
        """The former sessions of sub-agent files that now belong to a different session."""

    def run(self, files: list[ChangedFile]) -> int:
        """Read all files; return how many were read, which may be fewer after an interrupt."""
        read: set[int] = set()
        steps = list(self._plan_steps(files))
        with pause_garbage_collector(), catch_interrupts() as is_signalled:

            def is_interrupted() -> bool:
                return is_signalled() or self._is_stopped()

            retain_freed_memory()
            set_piece_merging(self.db, is_on=self.total <= MAX_BYTES_WITH_MERGING)
            try:
                commits = self._write_batches(steps, read, is_interrupted)
                if commits > _MAX_UNJOINED_COMMITS and self.part != "rest" and not is_interrupted():
                    join_said_pieces(self.db)
            finally:
                set_piece_merging(self.db, is_on=True)
        return len(read)

    def _plan_steps(self, files: list[ChangedFile]) -> Iterator[RefreshStep]:
        """Reserve numbers for two runs through the files: one now, and one for what this run leaves out."""
        count = sum(map(_count_possible_texts, files))
        first = reserve_text_numbers(self.db, 2 * count)
        room = first + count
        for item in sorted(files, key=lambda item: item.mtime_ns):
            self._rooms[item.file] = room
            room += _count_possible_texts(item)
        return plan_refresh_steps(files, first)

    def _write_batches(self, steps: list[RefreshStep], read: set[int], is_interrupted: Callable[[], bool]) -> int:
        """Write the rows of the files in complete transactions; return the number of transactions."""
        commits = ended = 0
        with closing(self._iter_batches(steps)) as stream:
            while ended < len(steps) and not is_interrupted():
                with open_write_transaction(self.db):
                    ended += self._write_until_commit(stream, read, is_interrupted)
                commits += 1
        return commits

    def _write_until_commit(
        self, stream: Iterator[IndexBatch | None], read: set[int], is_interrupted: Callable[[], bool]
    ) -> bool:
        """Write batches until it is time to commit; return whether the end of a step was reached."""
        rest, before, until = _CommitRest(self.db, self.moved), len(read), time.monotonic() + self.limits.seconds
        is_end = False
        for batch in stream:  # always at least one, however little time is left
            if batch is None:
                is_end = True
                break
            if batch.failure:
                self.unread.append(batch.failure)
                if batch.part == "rest":
                    self.db.execute("UPDATE file SET room = 0 WHERE id = ?", (batch.file,))
                continue
            self.names.learn(batch.names, batch.take_new_identifiers(self.names))
            if batch.reset:
                rest.forget_file(batch.file)
            rest.add_batch(batch, is_fork=write_batch(self.db, batch, self.model_ids))
            read.add(batch.file)
            self.done += batch.size
            self.progress(self.done, self.total)
            if is_interrupted() or len(read) - before >= self.limits.files or time.monotonic() >= until:
                break
        rest.write()
        return is_end

    def _iter_batches(self, steps: list[RefreshStep]) -> Generator[IndexBatch | None]:
        """Yield the batches of the files, with None at the end of each step.

        If there is enough to read, another process reads ahead; if it dies, this process continues alone.
        """
        ended = 0
        if self.total > MIN_PARALLEL_BYTES and count_cores() > 1:
            tasks = [
                self._build_step_tasks(step) for step in steps
            ]  # before the fork: only one side may use the connection
            try:
                for batch in produce_ahead(lambda: self._read_steps(tasks), IndexBatch | None):
                    ended += batch is None
                    yield batch
                return
            except ChildProcessError:
                pass
        yield from self._read_steps(self._build_step_tasks(step) for step in steps[ended:])

    def _build_step_tasks(self, step: RefreshStep) -> _StepTasks:
        last = self.db.execute("SELECT max(id) FROM main.text WHERE id >= ? AND id < ?", (step.first, step.end)).get
        return _StepTasks([self._build_task(file) for file in step.files], step.first if last is None else last + 1)

    def _read_steps(self, steps: Iterable[_StepTasks]) -> Iterator[IndexBatch | None]:
        for tasks, first in steps:
            numbers = itertools.count(first)
            for task in tasks:
                if task.part == "rest":
                    yield from read_rest(task, self.names)
                else:
                    yield from read_batches(task, self.names, numbers)
            yield None

    def _build_task(self, file: int) -> ReadTask:
        (row,) = self.db.execute(
            "SELECT path, kind, session, project, filled, room, offset, inode, size, mtime_ns, head_hash, tail_hash,"
            f" generation, {', '.join(_OUTLINE_FIELDS)}"
            " FROM file JOIN session ON session.id = file.session WHERE file.id = ?",
            (file,),
        )
        path, kind, session, project, filled, room, *rest = row
        checkpoint = Checkpoint(*rest[:7])
        part: TextPart = "conversation" if self.part == "all" and filled < checkpoint.offset else self.part
        room = room if part == "rest" and room else self._rooms[file]
        task = ReadTask(
            file,
            path,
            kind,
            session,
            project,
            checkpoint,
            TranscriptOutline(),
            {},
            set(),
            part=part,
            filled=filled,
            room=room,
        )
        if part != "rest":
            if kind == "agent" and (owner := self._find_new_owner(path, session, project)) is not None:
                self.moved[file] = session
                return task._replace(session=owner, reset="owner")
            if checkpoint.mtime_ns < 0:  # it could not be read when the index was emptied (upkeep.NEVER_NS)
                return task._replace(reset="emptied")
            task = task._replace(outline=TranscriptOutline(*rest[7:]))
        if part == "conversation":
            return task
        calls: list[Any] = self.db.execute("SELECT id, tool, path, shown FROM call WHERE file = ?", (file,)).fetchall()
        tools = {call: tool for call, tool, *_ in calls if tool is not None}
        files = {named if shown == "=" else shown for *_, named, shown in calls if shown is not None}
        return task._replace(calls=tools, files=files)

    def _find_new_owner(self, path: str, session: int, project: int) -> int | None:
        """Return the session that a loose sub-agent now belongs to, if that is a different one."""
        folder: Any = self.db.execute("SELECT text FROM name WHERE id = ?", (project,)).get
        if not is_loose_agent(path, folder):
            return None
        named = read_agent_owner(Path(path)).session_id
        if named == self.db.execute("SELECT uuid FROM session WHERE id = ?", (session,)).get:
            return None
        return get_session_number(self.db, project, named)


class _StepTasks(NamedTuple):
    """The files in a step, and the number of their first text."""

    tasks: list[ReadTask]
    first: int


class _CommitRest:
    """Rows to write once, before a commit. They grow in place: there may be a batch for each of 100,000 files."""

    def __init__(self, db: apsw.Connection, moved: dict[int, int]) -> None:
        self._db = db
        self._moved = moved
        self._keys: set[str] = set()
        self._identifiers: set[str] = set()
        self._dropped: list[int] = []
        self._stale: set[int] = set()
        self._since: int | None = None

    def forget_file(self, file: int) -> None:
        """Delete the rows of a file's entries."""
        # Find out who paid for its messages before they are deleted.
        self._note_stale(find_stale_spend(self._db, list_answer_keys(self._db, file)))
        self._dropped += release_file(self._db, file)

    def add_batch(self, batch: IndexBatch, *, is_fork: bool) -> None:
        """Record a batch that was written; if its file turns out to be a fork, its messages are billed again."""
        if is_fork:
            self._keys.update(list_answer_keys(self._db, batch.file))
        if batch.file in self._moved:
            self._note_stale(StaleSpend(frozenset([self._moved[batch.file]]), UNKNOWN_HOUR))
        self._keys.update(batch.answers)
        self._identifiers.update(batch.identifiers or ())

    def write(self) -> None:
        """Write the collected rows."""
        write_identifiers(self._db, self._identifiers)
        if self._dropped:
            drop_text_words(self._db, self._dropped)
        self._note_stale(find_stale_spend(self._db, self._keys))
        if self._since is not None:
            renew_spend(self._db, self._stale, self._since)

    def _note_stale(self, stale: StaleSpend) -> None:
        self._stale.update(stale.sessions)
        if stale.since is not None:
            self._since = stale.since if self._since is None else min(self._since, stale.since)


@contextmanager
def catch_interrupts() -> Iterator[Callable[[], bool]]:
    """Record interrupts instead of exiting, so that what was read is stored; this works only in the main thread.

    Ctrl-C only ends the refresh. A signal that ends the program does so after the work is on disk.
    """
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = {number: signal.getsignal(number) for number in _INTERRUPT_SIGNALS}
    caught = [number for number, handler in before.items() if handler is not signal.SIG_IGN]  # else nohup, or `&`
    for number in caught:
        signal.signal(number, lambda number, _: received.append(number))
    try:
        yield lambda: bool(received)
    finally:
        for number in caught:
            signal.signal(number, before[number] or signal.SIG_DFL)
        if deadly := [number for number in received if number != signal.SIGINT]:
            signal.raise_signal(deadly[0])


def reserve_text_numbers(db: apsw.Connection, count: int) -> int:
    """Reserve numbers for `count` texts; return the first number."""
    first: Any = db.execute("SELECT value FROM fact WHERE name = 'next_text'").get or 1
    db.execute("INSERT OR REPLACE INTO fact VALUES ('next_text', ?)", (first + count,))
    return int(first)


def reserve_rooms(db: apsw.Connection, size: int) -> int:
    """Reserve numbers for the rest of a file of this size; return the first number."""
    return reserve_text_numbers(db, size // MIN_TEXT_BYTES + 16)


class RefreshStep(NamedTuple):
    """Files that are read between two commits."""

    first: int
    """The number of their first text."""
    end: int
    files: list[int]


def _count_possible_texts(item: ChangedFile) -> int:
    return item.size // MIN_TEXT_BYTES + 16


def plan_refresh_steps(files: list[ChangedFile], first: int) -> Iterator[RefreshStep]:
    """Split the files into steps, newest first; newer texts have higher numbers.

    Within a step, the numbers increase; otherwise, a full-text table would flush everything that it has in memory.
    """
    steps = [RefreshStep(first, first, [])]
    size = 0
    for item in sorted(files, key=lambda item: item.mtime_ns):
        step = steps[-1]
        if size > MAX_STEP_BYTES:
            steps.append(step := RefreshStep(step.end, step.end, []))
            size = 0
        step.files.append(item.file)
        steps[-1] = step._replace(end=step.end + _count_possible_texts(item))
        size += item.more
    yield from reversed(steps)
