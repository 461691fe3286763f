"""What the pages know of the machine: its config folders, the index, the timelines, and sessions by their references.

A reference is what an address may name a session by: its uuid, or `uuid.N` with the session's number in the index
where several projects have the same one. Nothing else in an address ever becomes a path.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Sequence
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

from turnlog.entries.layout import Survey, list_session_files
from turnlog.errors import NotFound, TurnlogError
from turnlog.store.index_file_name import DEFAULT_INDEX_NAME
from turnlog.store.store import Store, TellUser

if TYPE_CHECKING:
    from turnlog.store.timelines.timelines import Timelines


class IndexState(NamedTuple):
    """The state of the index."""

    phase: str = "idle"
    """idle, indexing, timelines (those of large sessions are made ahead), or failed."""
    done: int = 0
    """Bytes, while indexing; sessions, while timelines are made."""
    total: int = 0
    generation: int = 0
    """Grows when the index has changed: what a page shows may be old."""
    failure: str = ""

    @property
    def is_busy(self) -> bool:
        """Whether the index is not yet what it will be."""
        return self.phase == "indexing"

    @property
    def words(self) -> str:
        """The state in a few words; nothing while there is nothing to say."""
        if self.phase == "failed":
            return f"not up to date: {self.failure}"
        if not self.is_busy:
            return ""
        return f"indexing {min(100 * self.done // self.total, 99)} %" if self.total else "indexing"


_REF_PATTERN = re.compile(
    r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\.([1-9]\d{0,9}))?", re.IGNORECASE | re.ASCII
)
_CACHE_KIB = 4_000
"""Of each thread's connection: there are a few of them, and the system keeps the file's pages as well."""
_SESSION_COLUMNS = "session.id, uuid, path, name.text, cwd, title, gone"


class IndexedSession(NamedTuple):
    """A session of the index."""

    number: int
    uuid: str
    path: Path
    folder: str
    """The project's folder below `projects`."""
    cwd: str | None
    title: str | None
    is_gone: bool
    """The file was deleted; the archive may have it."""
    ref: str


class SessionRefs(NamedTuple):
    """How sessions are named in addresses."""

    doubled: frozenset[str]
    """Uuids that several projects have."""

    def format_ref(self, number: int, uuid: str) -> str:
        """The reference of a session."""
        return f"{uuid}.{number}" if uuid in self.doubled else uuid


class Machine:
    """The machine that the pages show; one for all threads."""

    def __init__(
        self,
        config_dirs: Sequence[Path],
        data_dir: Path,
        *,
        index_name: str = DEFAULT_INDEX_NAME,
        gap: timedelta = timedelta(minutes=5),
        is_demo: bool = False,
        tell: TellUser = str,
    ) -> None:
        self.config_dirs = [folder.absolute() for folder in config_dirs]
        self.data_dir = data_dir
        self.gap = gap
        self.is_demo = is_demo
        """There are no sessions on this machine: these are the made-up ones."""
        self.ending = threading.Event()
        """Set when the server stops: what streams should end."""
        self.state = IndexState()
        """What is being done in the background."""
        self.visited = 0.0
        """When a page last asked for it, by the monotonic clock."""
        self._threads = threading.local()
        self._stores: WeakSet[Store] = WeakSet()  # a thread's goes with the thread
        # Where the data folder can't be written to, the index is in a temporary one: the same for all threads.
        self._first = Store.open(data_dir, tell, index_name)
        self.index = self._first.path

    @property
    def store(self) -> Store:
        """The index, by a connection of this thread's own."""
        found: tuple[Store, int] | None = getattr(self._threads, "store", None)
        now = _read_inode(self.index)
        if found is None or found[1] != now:  # another one was put in its place: it was damaged, or of another version
            if found is not None:
                found[0].db.close()
            opened = reopen_index(self.index)
            opened.db.pragma("cache_size", -_CACHE_KIB)
            self._stores.add(opened)
            self._threads.store = found = opened, _read_inode(self.index)
        return found[0]

    @cached_property
    def timelines(self) -> Timelines:
        """The timelines that are kept."""
        from turnlog.store.timelines.timelines import Timelines

        return Timelines(self.index.parent / "timelines")

    def find_session(self, ref: str) -> IndexedSession:
        """The session that a reference means; raises NotFound."""
        form = _REF_PATTERN.fullmatch(ref)
        if not form:
            raise NotFound("there is no such session")
        rows: list[Any] = self.store.db.execute(
            f"SELECT {_SESSION_COLUMNS} FROM session JOIN file ON file.session = session.id AND file.kind = 'session'"
            " JOIN name ON name.id = project WHERE uuid = ? AND (session.id = ? OR ? IS NULL)"
            " ORDER BY gone IS NOT NULL, file.mtime_ns DESC",
            (form[1], int(form[2] or 0), form[2]),
        ).fetchall()
        if not rows:
            raise NotFound(f"there is no session {form[1]}; it may be new: look again in a moment")
        return _to_indexed_session(rows[0], self.load_refs())

    def find_ref(self, path: str) -> str | None:
        """The reference of the session of a file, if the index has it."""
        row: Any = self.store.db.execute(
            "SELECT session.id, uuid FROM file JOIN session ON session.id = session WHERE path = ?", (path,)
        ).fetchone()
        return self.load_refs().format_ref(*row) if row else None

    def load_refs(self) -> SessionRefs:
        """How sessions are named in addresses, as of now."""
        rows = self.store.db.execute(
            "SELECT uuid FROM session WHERE id IN (SELECT session FROM file WHERE kind = 'session')"
            " GROUP BY uuid HAVING count(*) > 1"
        )
        return SessionRefs(frozenset(uuid for (uuid,) in rows))

    def is_empty(self) -> bool:
        """Whether there is no session: no file, and none that the index remembers."""
        if self.store.db.execute("SELECT EXISTS (SELECT 1 FROM file)").get:
            return False
        survey = Survey()
        is_there = any(True for folder in self.config_dirs for _ in list_session_files(folder, survey))
        return not is_there and not survey.unlisted

    def close(self) -> None:
        """Let go of the index and the timelines."""
        if "timelines" in self.__dict__:
            self.timelines.close()
        for store in list(self._stores):
            store.db.close()
        self._first.close()


def reopen_index(index: Path) -> Store:
    """The index that is there, by another connection; raises TurnlogError where another one would have to be made."""
    found = Store.open(index.parent, name=index.name)
    if found.path != index:
        found.close()
        raise TurnlogError(f"{index}: can't be opened any more; is the disk still there, and writable?")
    return found


def _to_indexed_session(row: Sequence[Any], refs: SessionRefs) -> IndexedSession:
    number, uuid, path, folder, cwd, title, gone = row
    return IndexedSession(number, uuid, Path(path), folder, cwd, title, gone is not None, refs.format_ref(number, uuid))


def _read_inode(path: Path) -> int:
    try:
        return os.stat(path).st_ino  # noqa: PTH116 - for every request
    except OSError:
        return -1
