"""Reading what changed and writing it into the index, newest files first, in steps that each are whole."""

from __future__ import annotations

import itertools
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec

from ..entries.agents import owner
from ..entries.reader import collector_off
from ..entries.spread import ahead, cores
from ..entries.tail import Checkpoint
from ..entries.transcripts import is_loose
from ..session.outline import Outline
from .changes import Changed, session_number
from .gather import SMALLEST, Batch, Task, batches
from .lock import writing
from .names import Names
from .refresh import Progress
from .spend import renew, touched
from .write import answers_of, write

STEP = 192 << 20
"""So many bytes are read between two commits: a commit of full-text tables costs much, whatever is in it."""
ENOUGH = 24 << 20
"""So many bytes are worth a second process."""
_OUTLINE = [field.name for field in msgspec.structs.fields(Outline)]


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
        self.moved: set[int] = set()
        """Sessions that a sub-agent's file no longer belongs to."""

    def run(self, files: list[Changed]) -> int:
        """Read all files; gives how many were read, which are fewer if it was interrupted."""
        read = 0
        # Merging what the next step adds to would be done twice.
        merging(self.db, is_on=self.total <= ENOUGH)
        with collector_off(), _interrupts() as is_interrupted:
            for step in steps(files, reserve(self.db, sum(item.size // SMALLEST + 16 for item in files))):
                with writing(self.db):
                    read += self._step(step, is_interrupted)
                if is_interrupted():
                    break
        merging(self.db, is_on=True)
        return read

    def _step(self, step: Step, is_interrupted: Callable[[], bool]) -> int:
        read: set[int] = set()
        keys: set[str] = set()
        sessions: set[int] = set()
        for batch in self._batches(step):
            if is_interrupted():
                break
            if batch.failure:
                self.unread.append(batch.failure)
                continue
            self.names.learn(batch.names, batch.identifiers)
            if batch.reset:
                # Who has paid for what the file said is asked before that is forgotten.
                sessions |= touched(self.db, answers_of(self.db, batch.file))
            if write(self.db, batch, self.model_ids):
                keys |= answers_of(self.db, batch.file)
            keys |= batch.answers.keys()
            read.add(batch.file)
            self.done += batch.size
            self.progress(self.done, self.total)
        renew(self.db, sessions | self.moved | touched(self.db, keys))
        return len(read)

    def _batches(self, step: Step) -> Iterator[Batch]:
        """Read ahead in another process where there is enough to read; go on alone if that one dies."""
        if self.total > ENOUGH and cores() > 1:
            make = self._maker(step)  # before the fork: a connection must not be used on both sides of it
            try:
                yield from ahead(make, Batch)
                return
            except ChildProcessError:
                pass
        yield from self._maker(step)()

    def _maker(self, step: Step) -> Callable[[], Iterator[Batch]]:
        tasks = [self._task(file) for file in step.files]
        last = self.db.execute("SELECT max(id) FROM text WHERE id >= ? AND id < ?", (step.first, step.end)).get
        numbers = itertools.count(step.first if last is None else last + 1)
        return lambda: (batch for task in tasks for batch in batches(task, self.names, numbers))

    def _task(self, file: int) -> Task:
        (row,) = self.db.execute(
            "SELECT path, kind, session, project, offset, inode, size, mtime_ns, head_hash, tail_hash, generation,"
            f" {', '.join(_OUTLINE)} FROM file JOIN session ON session.id = file.session WHERE file.id = ?",
            (file,),
        )
        path, kind, session, project, *rest = row
        if kind == "agent" and (owner := self._owner(path, session, project)) is not None:
            return Task(file, path, kind, owner, project, Checkpoint(*rest[:7]), Outline(), {}, set(), reset="owner")
        tools = dict(self.db.execute("SELECT id, tool FROM call WHERE file = ? AND tool IS NOT NULL", (file,)))
        shown = {
            path for (path,) in self.db.execute("SELECT shown FROM call WHERE file = ? AND shown NOT NULL", (file,))
        }
        return Task(file, path, kind, session, project, Checkpoint(*rest[:7]), Outline(*rest[7:]), tools, shown)

    def _owner(self, path: str, session: int, project: int) -> int | None:
        """The session that a loose sub-agent belongs to by now, if it is another one than before."""
        folder: Any = self.db.execute("SELECT text FROM name WHERE id = ?", (project,)).get
        if not is_loose(path, folder):
            return None
        named = owner(Path(path)).session_id
        if named == self.db.execute("SELECT uuid FROM session WHERE id = ?", (session,)).get:
            return None
        found = session_number(self.db, project, named)
        self.moved.add(session)
        self.db.execute("UPDATE file SET session = ? WHERE path = ?", (found, path))
        return found


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


def merging(db: apsw.Connection, *, is_on: bool) -> None:
    """Say whether full-text tables shall merge their pieces little by little while they are written."""
    for table in ("said", "done"):
        db.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('automerge', ?)", (8 if is_on else 0,))


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
