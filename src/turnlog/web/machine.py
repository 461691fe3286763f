"""The machine as the pages see it: its config folders, the index, the timelines, and sessions by reference.

A reference names a session in an address: its uuid, or `uuid.N` with the session's number in the index if several
projects have the same uuid. Nothing else in an address ever becomes a path.
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
from turnlog.web.preferences import PreferenceStore

if TYPE_CHECKING:
    from turnlog.store.timelines.timelines import Timelines


class IndexState(NamedTuple):
    phase: str = "idle"
    """idle, starting (the files have not been listed yet), indexing, timelines (building those of large sessions in
    advance), or failed."""
    done: int = 0
    """Bytes while indexing; sessions while building timelines."""
    total: int = 0
    generation: int = 0
    """Increases when the index changes, so that a page can detect that it may be out of date."""
    failure: str = ""
    files: int = 0
    """While indexing: how many files there are."""
    files_read: int = 0
    """While indexing: how many of them the index has read at least once."""
    seconds_left: float | None = None
    """While indexing: the estimated time until it is complete, if known."""

    @property
    def is_busy(self) -> bool:
        """True if the index is incomplete."""
        return self.phase in ("starting", "indexing")

    @property
    def is_complete(self) -> bool:
        """True unless the index is being updated or could not be."""
        return not self.is_busy and self.phase != "failed"

    @property
    def words(self) -> str:
        """A short description for the page header; empty if there is nothing to report."""
        if self.phase == "failed":
            return f"not up to date: {self.failure}"
        if not self.is_busy:
            return ""
        if self.phase == "starting":
            return "looking for sessions"
        return f"indexing {min(100 * self.done // self.total, 99)} %" if self.total else "indexing"


_REF_PATTERN = re.compile(
    r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\.([1-9]\d{0,9}))?", re.IGNORECASE | re.ASCII
)
_CACHE_KIB = 4_000
"""The cache size of each thread's connection. There are only a few connections, and the system also caches the file."""
_MAX_HELPER_SECONDS = 10.0
"""How long to wait for another thread that uses the index when the server stops."""
_SESSION_COLUMNS = "session.id, uuid, path, name.text, cwd, title, gone"


class IndexedSession(NamedTuple):
    number: int
    uuid: str
    path: Path
    folder: str
    """The project's folder under `projects`."""
    cwd: str | None
    title: str | None
    is_gone: bool
    """Whether the file was deleted; the archive may have a copy."""
    ref: str


class SessionRefs(NamedTuple):
    """Builds the references that name sessions in addresses."""

    doubled: frozenset[str]
    """Uuids that occur in several projects."""

    def format_ref(self, number: int, uuid: str) -> str:
        return f"{uuid}.{number}" if uuid in self.doubled else uuid


class UnknownSession(NotFound):
    """No session has a reference."""

    def __init__(self, ref: str) -> None:
        super().__init__(f"no session {ref}; if it is new, try again in a moment")
        self.ref = ref


class LakeLabel(NamedTuple):
    """Which snapshot of which lake the pages show."""

    location: str
    """Its path or URL."""
    snapshot: int
    created: str


class Machine:
    """The sessions that the pages show; shared by all threads."""

    def __init__(
        self,
        config_dirs: Sequence[Path],
        data_dir: Path,
        *,
        index_name: str = DEFAULT_INDEX_NAME,
        gap: timedelta = timedelta(minutes=5),
        is_demo: bool = False,
        tell: TellUser = str,
        fills_in_background: bool = True,
    ) -> None:
        self.config_dirs = [folder.absolute() for folder in config_dirs]
        self.played_dir: Path | None = None
        """The config folder of the demo session that the Live page plays."""
        self.data_dir = data_dir
        self.gap = gap
        self.is_demo = is_demo
        """Whether the pages show made-up sessions, because this machine has none."""
        self.preferences = PreferenceStore(data_dir)
        self.fills_in_background = fills_in_background and not is_demo
        """Whether a process of its own may read the rest of the index, even after the server has stopped."""
        self.ending = threading.Event()
        """Set when the server stops, so that streams end."""
        self.state = IndexState()
        """The state of the background work."""
        self.late_listings = 0
        """How often a list was shown before it was complete, and completed later."""
        self.visited = 0.0
        """When a page last polled, by the monotonic clock."""
        self.listened: float | None = None
        """When a page last listened for notifications, by the monotonic clock."""
        self.lake: LakeLabel | None = None
        """The lake that the pages show instead of this machine's sessions."""
        self._threads = threading.local()
        self.helpers: WeakSet[threading.Thread] = WeakSet()
        """Threads that use the index for a moment and must end before it is closed."""
        self._stores: WeakSet[Store] = WeakSet()  # a thread's store is closed with the thread
        # If the data folder is read-only, the index is in a temporary folder, which all threads must share.
        self._first = Store.open(data_dir, tell, index_name)
        self.index = self._first.path

    @property
    def generation(self) -> int:
        """A number that increases when an open page may be out of date."""
        return self.state.generation + self.late_listings

    @property
    def store(self) -> Store:
        """This thread's own connection to the index."""
        known: tuple[Store, int] | None = getattr(self._threads, "store", None)
        index = self.index  # a lake replaces it at any time
        now = _read_inode(index)
        if known is None or known[1] != now:  # the file was replaced: it was damaged or had another version
            if known is not None:
                known[0].db.close()
            opened = reopen_index(index)
            opened.db.pragma("cache_size", -_CACHE_KIB)
            self._stores.add(opened)
            self._threads.store = known = opened, _read_inode(index)
        known[0].update_shards()
        return known[0]

    @cached_property
    def timelines(self) -> Timelines:
        from turnlog.store.timelines.timelines import Timelines

        return Timelines(self.index.parent / "timelines")

    def find_session(self, ref: str) -> IndexedSession:
        """Resolve a reference; raise `UnknownSession` if no session has it."""
        match = _REF_PATTERN.fullmatch(ref)
        if not match:
            raise UnknownSession(ref)
        rows: list[Any] = self.store.db.execute(
            f"SELECT {_SESSION_COLUMNS} FROM session JOIN file ON file.session = session.id AND file.kind = 'session'"
            " JOIN name ON name.id = project WHERE uuid = ? AND (session.id = ? OR ? IS NULL)"
            " ORDER BY gone IS NOT NULL, file.mtime_ns DESC",
            (match[1], int(match[2] or 0), match[2]),
        ).fetchall()
        if not rows:
            raise UnknownSession(ref)
        session = _to_indexed_session(rows[0], self.load_refs())
        # A file may have been deleted since the index looked for it.
        return session if session.is_gone or not _is_missing(session.path) else session._replace(is_gone=True)

    def find_session_file(self, ref: str) -> IndexedSession:
        """Resolve a reference; a session that the index does not have yet is searched for in the folders."""
        try:
            return self.find_session(ref)
        except UnknownSession:
            for folder in (*self.config_dirs, *([self.played_dir] if self.played_dir else [])):
                for file in list_session_files(folder):
                    if file.session_id == ref:
                        return IndexedSession(0, ref, file.path, file.project_dir.name, None, None, False, ref)
            raise

    def find_ref(self, path: str) -> str | None:
        """Return the reference of the session in a file, if the index has it."""
        row: Any = self.store.db.execute(
            "SELECT session.id, uuid FROM file JOIN session ON session.id = session WHERE path = ?", (path,)
        ).fetchone()
        return self.load_refs().format_ref(*row) if row else None

    def load_refs(self) -> SessionRefs:
        rows = self.store.db.execute(
            "SELECT uuid FROM session WHERE id IN (SELECT session FROM file WHERE kind = 'session')"
            " GROUP BY uuid HAVING count(*) > 1"
        )
        return SessionRefs(frozenset(uuid for (uuid,) in rows))

    def is_empty(self) -> bool:
        """Return whether the machine has no session files and the index is empty."""
        if self.store.db.execute("SELECT EXISTS (SELECT 1 FROM file)").get:
            return False
        survey = Survey()
        is_there = any(True for folder in self.config_dirs for _ in list_session_files(folder, survey))
        return not is_there and not survey.unlisted

    def close(self) -> None:
        if "timelines" in self.__dict__:
            self.timelines.close()
        for store in list(self._stores):
            store.db.interrupt()
        for thread in list(self.helpers):
            thread.join(_MAX_HELPER_SECONDS)
        for store in list(self._stores):
            store.db.close()
        self._first.close()


def reopen_index(index: Path) -> Store:
    """Open another connection to the existing index; raise `TurnlogError` instead of creating a new index."""
    store = Store.open(index.parent, name=index.name)
    if store.path != index:
        store.close()
        raise TurnlogError(f"{index}: the index can no longer be opened; check that the disk is mounted and writable")
    return store


def _to_indexed_session(row: Sequence[Any], refs: SessionRefs) -> IndexedSession:
    number, uuid, path, folder, cwd, title, gone = row
    return IndexedSession(number, uuid, Path(path), folder, cwd, title, gone is not None, refs.format_ref(number, uuid))


def _is_missing(path: Path) -> bool:
    try:
        os.stat(path)  # noqa: PTH116 - runs for every request
    except FileNotFoundError:
        return True
    except OSError:  # unreadable: opening it says why
        return False
    return False


def _read_inode(path: Path) -> int:
    try:
        return os.stat(path).st_ino  # noqa: PTH116 - runs for every request
    except OSError:
        return -1
