"""Reading what changed and writing it into the index, newest files first, in steps that each are whole."""

from __future__ import annotations

import itertools
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from turnlog.entries.agents import owner
from turnlog.entries.reader import collector_off
from turnlog.entries.spread import ahead, cores
from turnlog.entries.tail import Checkpoint
from turnlog.entries.transcripts import is_loose
from turnlog.session.texts.outline import Outline
from turnlog.store.index.changes import Changed, session_number
from turnlog.store.index.gather import SMALLEST, Batch, Task, batches
from turnlog.store.index.names import Names
from turnlog.store.index.pieces import join_said, merging
from turnlog.store.index.refresh import Progress
from turnlog.store.index.spend import UNKNOWN, Stale, renew, touched
from turnlog.store.index.write import answers_of, drop_words, release, write, write_identifiers
from turnlog.store.lock import writing

STEP = 192 << 20
"""So many bytes are read between two commits: a commit of full-text tables costs much, whatever is in it."""
ENOUGH = 2 << 20
"""So many bytes are worth a second process."""
MUCH = 24 << 20
"""So many bytes are written without merging what is there: the next step would have to do it again."""
_FEW_STEPS = 3
"""So many leave few enough pieces of a full-text table for a search that is fast."""
_OUTLINE = Outline.__struct_fields__


class Work:
    """One refresh at work."""

    def __init__(self, db: apsw.Connection, progress: Progress, total: int) -> None:
        self.db = db
        self.names = Names.load(db)
        self.model_ids = {text: number for number, text in db.execute("SELECT id, text FROM name WHERE kind = 'model'")}
        self.progress = progress
        self.total = total
        self.done = 0
        self.unread: list[str] = []
        self.moved: dict[int, int] = {}
        """The sessions that the files of sub-agents no longer belong to."""

    def run(self, files: list[Changed]) -> int:
        """Read all files; gives how many were read, which are fewer if it was interrupted."""
        read = 0
        merging(self.db, is_on=self.total <= MUCH)
        heaps = list(steps(files, reserve(self.db, sum(item.size // SMALLEST + 16 for item in files))))
        with collector_off(), _interrupts() as is_interrupted, closing(self._batches(heaps)) as stream:
            for _ in heaps:
                with writing(self.db):
                    read += self._step(stream, is_interrupted)
                if is_interrupted():
                    break
            if len(heaps) > _FEW_STEPS and not is_interrupted():
                join_said(self.db)
        merging(self.db, is_on=True)
        return read

    def _step(self, stream: Iterator[Batch | None], is_interrupted: Callable[[], bool]) -> int:
        """Write what comes up to the end of a step."""
        read: set[int] = set()
        rest = _Rest(self.db, self.moved)
        for batch in iter(stream.__next__, None):
            if is_interrupted():
                break
            if batch.failure:
                self.unread.append(batch.failure)
                continue
            self.names.learn(batch.names, batch.met(self.names))
            if batch.reset:
                rest.forget(batch.file)
            rest.add(batch, is_fork=write(self.db, batch, self.model_ids))
            read.add(batch.file)
            self.done += batch.size
            self.progress(self.done, self.total)
        rest.write()
        return len(read)

    def _batches(self, heaps: list[Step]) -> Generator[Batch | None]:
        """What the files add, with None at the end of each step.

        Another process reads ahead where there is enough to read; this one goes on alone if that one dies.
        """
        ended = 0
        if self.total > ENOUGH and cores() > 1:
            tasks = [self._tasks(step) for step in heaps]  # before the fork: a connection is for one side of it
            try:
                for batch in ahead(lambda: self._read(tasks), Batch | None):
                    ended += batch is None
                    yield batch
                return
            except ChildProcessError:
                pass
        yield from self._read(self._tasks(step) for step in heaps[ended:])

    def _tasks(self, step: Step) -> _Tasks:
        last = self.db.execute("SELECT max(id) FROM text WHERE id >= ? AND id < ?", (step.first, step.end)).get
        return _Tasks([self._task(file) for file in step.files], step.first if last is None else last + 1)

    def _read(self, steps: Iterable[_Tasks]) -> Iterator[Batch | None]:
        for tasks, first in steps:
            numbers = itertools.count(first)
            for task in tasks:
                yield from batches(task, self.names, numbers)
            yield None

    def _task(self, file: int) -> Task:
        (row,) = self.db.execute(
            "SELECT path, kind, session, project, offset, inode, size, mtime_ns, head_hash, tail_hash, generation,"
            f" {', '.join(_OUTLINE)} FROM file JOIN session ON session.id = file.session WHERE file.id = ?",
            (file,),
        )
        path, kind, session, project, *rest = row
        if kind == "agent" and (owner := self._owner(path, session, project)) is not None:
            self.moved[file] = session
            return Task(file, path, kind, owner, project, Checkpoint(*rest[:7]), Outline(), {}, set(), reset="owner")
        checkpoint = Checkpoint(*rest[:7])
        if checkpoint.mtime_ns < 0:  # it could not be read when the index was emptied (upkeep.NEVER_NS)
            return Task(file, path, kind, session, project, checkpoint, Outline(), {}, set(), reset="emptied")
        known: list[Any] = self.db.execute("SELECT id, tool, path, shown FROM call WHERE file = ?", (file,)).fetchall()
        tools = {call: tool for call, tool, *_ in known if tool is not None}
        files = {named if shown == "=" else shown for *_, named, shown in known if shown is not None}
        return Task(file, path, kind, session, project, checkpoint, Outline(*rest[7:]), tools, files)

    def _owner(self, path: str, session: int, project: int) -> int | None:
        """The session that a loose sub-agent belongs to by now, if it is another one than before."""
        folder: Any = self.db.execute("SELECT text FROM name WHERE id = ?", (project,)).get
        if not is_loose(path, folder):
            return None
        named = owner(Path(path)).session_id
        if named == self.db.execute("SELECT uuid FROM session WHERE id = ?", (session,)).get:
            return None
        return session_number(self.db, project, named)


class _Tasks(NamedTuple):
    """The files of a step, and the number of their first text."""

    tasks: list[Task]
    first: int


class _Rest:
    """What is written once, at the end of a step."""

    def __init__(self, db: apsw.Connection, moved: dict[int, int]) -> None:
        self._db = db
        self._moved = moved
        self._keys: set[str] = set()
        self._identifiers: set[str] = set()
        self._dropped: list[int] = []
        self._stale = Stale()

    def forget(self, file: int) -> None:
        """Take out what a file has said."""
        # Who has paid for that is asked before it is forgotten.
        self._stale |= touched(self._db, answers_of(self._db, file))
        self._dropped += release(self._db, file)

    def add(self, batch: Batch, *, is_fork: bool) -> None:
        """Take note of a batch that was written; a fork pays for no copy, whatever was thought before."""
        if is_fork:
            self._keys |= answers_of(self._db, batch.file)
        if batch.file in self._moved:
            self._stale |= Stale(frozenset([self._moved[batch.file]]), UNKNOWN)
        self._keys |= batch.answers.keys()
        self._identifiers.update(batch.identifiers or ())

    def write(self) -> None:
        """Write it."""
        write_identifiers(self._db, self._identifiers)
        if self._dropped:
            drop_words(self._db, self._dropped)
        self._stale |= touched(self._db, self._keys)
        if self._stale.since is not None:
            renew(self._db, self._stale.sessions, self._stale.since)


@contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Take note of an interrupt instead of dying of it; only the main thread may."""
    asked: list[bool] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, lambda *_: asked.append(True))
    try:
        yield lambda: bool(asked)
    finally:
        signal.signal(signal.SIGINT, before)


def reserve(db: apsw.Connection, count: int) -> int:
    """Take numbers for so many texts; gives the first."""
    first: Any = db.execute("SELECT value FROM fact WHERE name = 'next_text'").get or 1
    db.execute("INSERT OR REPLACE INTO fact VALUES ('next_text', ?)", (first + count,))
    return int(first)


class Step(NamedTuple):
    """Files that are read between two commits."""

    first: int
    """The number of their first text."""
    end: int
    files: list[int]


def steps(files: list[Changed], first: int) -> Iterator[Step]:
    """The files in heaps, the newest heap first; newer texts have higher numbers.

    Within a heap the numbers rise: a full-text table writes out all that it has in memory when they don't.
    """
    heaps = [Step(first, first, [])]
    size = 0
    for item in sorted(files, key=lambda item: item.mtime_ns):
        heap = heaps[-1]
        if size > STEP:
            heaps.append(heap := Step(heap.end, heap.end, []))
            size = 0
        heap.files.append(item.file)
        heaps[-1] = heap._replace(end=heap.end + item.size // SMALLEST + 16)
        size += item.more
    yield from reversed(heaps)
