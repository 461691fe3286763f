"""Reading what changed and writing it into the index, newest files first, in steps that each are whole."""

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
"""So many bytes are read between two commits, unless `CommitLimits` says otherwise: a commit of full-text tables costs
much, whatever is in it."""
ENOUGH = 2 << 20
"""So many bytes are worth a second process."""
MUCH = 24 << 20
"""So many bytes are written without merging what is there: the next step would have to do it again."""
_FEW_STEPS = 3
"""So many leave few enough pieces of a full-text table for a search that is fast."""
_SIGNALS = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if sys.platform != "win32" else [])]
_OUTLINE = Outline.__struct_fields__


class CommitLimits(NamedTuple):
    """How much is lost at most when the program is killed; other values are for tests."""

    files: int = 4000
    seconds: float = 10.0


class Work:
    """One refresh at work."""

    def __init__(
        self,
        db: apsw.Connection,
        progress: Progress,
        total: int,
        limits: CommitLimits = CommitLimits(),  # noqa: B008
    ) -> None:
        self.db = db
        self.limits = limits
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
        read: set[int] = set()
        heaps = list(steps(files, reserve(self.db, sum(item.size // SMALLEST + 16 for item in files))))
        with collector_off(), _interrupts() as is_interrupted:
            merging(self.db, is_on=self.total <= MUCH)
            try:
                commits = self._write_all(heaps, read, is_interrupted)
                if commits > _FEW_STEPS and not is_interrupted():
                    join_said(self.db)
            finally:
                merging(self.db, is_on=True)
        return len(read)

    def _write_all(self, heaps: list[Step], read: set[int], is_interrupted: Callable[[], bool]) -> int:
        """Write what the files add, in transactions that each are whole; gives how many there were."""
        commits = ended = 0
        with closing(self._batches(heaps)) as stream:
            while ended < len(heaps) and not is_interrupted():
                with writing(self.db):
                    ended += self._write_some(stream, read, is_interrupted)
                commits += 1
        return commits

    def _write_some(self, stream: Iterator[Batch | None], read: set[int], is_interrupted: Callable[[], bool]) -> bool:
        """Write what comes until it is time to commit; whether a step has ended."""
        rest, before, until = _Rest(self.db, self.moved), len(read), time.monotonic() + self.limits.seconds
        is_end = False
        for batch in stream:  # at least one, however little time there is
            if batch is None:
                is_end = True
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
            if is_interrupted() or len(read) - before >= self.limits.files or time.monotonic() >= until:
                break
        rest.write()
        return is_end

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
    """What is written once, before a commit. It grows in place: there may be a batch for each of 100,000 files."""

    def __init__(self, db: apsw.Connection, moved: dict[int, int]) -> None:
        self._db = db
        self._moved = moved
        self._keys: set[str] = set()
        self._identifiers: set[str] = set()
        self._dropped: list[int] = []
        self._stale: set[int] = set()
        self._since: int | None = None

    def forget(self, file: int) -> None:
        """Take out what a file has said."""
        # Who has paid for that is asked before it is forgotten.
        self._note(touched(self._db, answers_of(self._db, file)))
        self._dropped += release(self._db, file)

    def add(self, batch: Batch, *, is_fork: bool) -> None:
        """Take note of a batch that was written; a fork pays for no copy, whatever was thought before."""
        if is_fork:
            self._keys.update(answers_of(self._db, batch.file))
        if batch.file in self._moved:
            self._note(Stale(frozenset([self._moved[batch.file]]), UNKNOWN))
        self._keys.update(batch.answers)
        self._identifiers.update(batch.identifiers or ())

    def write(self) -> None:
        """Write it."""
        write_identifiers(self._db, self._identifiers)
        if self._dropped:
            drop_words(self._db, self._dropped)
        self._note(touched(self._db, self._keys))
        if self._since is not None:
            renew(self._db, self._stale, self._since)

    def _note(self, stale: Stale) -> None:
        self._stale.update(stale.sessions)
        if stale.since is not None:
            self._since = stale.since if self._since is None else min(self._since, stale.since)


@contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Take note of an interrupt instead of dying of it, so that what was read is kept; only the main thread may.

    Ctrl-C ends the reading alone. A signal that ends the program does so when the work is on the disk.
    """
    asked: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    heard = [number for number, handler in before.items() if handler is not signal.SIG_IGN]  # else nohup, or `&`
    for number in heard:
        signal.signal(number, lambda number, _: asked.append(number))
    try:
        yield lambda: bool(asked)
    finally:
        for number in heard:
            signal.signal(number, before[number] or signal.SIG_DFL)
        if deadly := [number for number in asked if number != signal.SIGINT]:
            signal.raise_signal(deadly[0])


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
