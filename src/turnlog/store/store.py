"""The index of all sessions: one SQLite file in turnlog's own data folder, made when missing, renewed when old.

Nothing in it is precious but what it knows of sessions that are gone, so an index that is damaged, or that another
version wrote, is put aside and made again, with a word to the user. Where the folder can't be written to, the index is
made in a folder for temporary files and lives as long as the program.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import apsw

from turnlog.errors import TurnlogError
from turnlog.store.index.pieces import prepare
from turnlog.store.index.refresh import Progress, Refreshed, refresh, unheard
from turnlog.store.lock import DAMAGED, locked, log_ahead, writing
from turnlog.store.place import USUAL
from turnlog.store.session_counts import count_sessions

VERSION = 10
"""Of the tables and of what is put into them; an index of another version is made again."""
BUSY_MS = 10_000
_UNWRITABLE = (apsw.ReadOnlyError, apsw.CantOpenError, apsw.IOError, apsw.PermissionsError)


Tell = Callable[[str], object]
"""Called with one line for the user."""


class Status(NamedTuple):
    """What an index holds."""

    path: str
    size: int
    """Bytes that the file has once everything is merged into it."""
    sessions: int
    without_conversation: int
    without_transcript: int
    files: int
    gone: int
    """Files that the client or somebody else has deleted."""
    unread: int
    """Files that are known and not in it yet: somebody stopped it."""
    read: int
    """Bytes of the files that are in it."""
    texts: int
    messages: int
    calls: int


class Store:
    """An open index."""

    def __init__(self, db: apsw.Connection, path: Path, tell: Tell, *, is_temporary: bool) -> None:
        self.db = db
        self.path = path
        self.is_temporary = is_temporary
        self._tell = tell

    @classmethod
    def open(cls, folder: Path, tell: Tell = str, name: str = USUAL) -> Store:
        """Open the index in a folder; make it if there is none."""
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = cls(_connect(folder / name, tell), folder / name, tell, is_temporary=False)
            with locked(found.lock):  # on a disk that can't be written to, an index may be opened all the same
                return found
        except apsw.FullError:
            raise TurnlogError(f"{folder}: the disk is full; make room, or set TURNLOG_HOME") from None
        except (OSError, *_UNWRITABLE) as error:
            tell(f"{folder}: {_reason(error)}; the index is made for this one time in a temporary folder")
        from tempfile import mkdtemp

        path = Path(mkdtemp(prefix="turnlog-")) / name
        return cls(_connect(path, tell), path, tell, is_temporary=True)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the index; one in a temporary folder goes with it."""
        self.db.close()
        if self.is_temporary:
            import shutil

            shutil.rmtree(self.path.parent, ignore_errors=True)

    def refresh(self, config_dirs: Sequence[Path], progress: Progress = unheard) -> Refreshed:
        """Bring it up to date; one that turns out to be damaged is made again."""
        try:
            return refresh(self.db, self.lock, config_dirs, progress)
        except DAMAGED as error:
            self.begin_again(error)
            return refresh(self.db, self.lock, config_dirs, progress)
        except apsw.FullError:
            raise TurnlogError(f"{self.path}: the disk is full; the index stays as it was") from None
        except apsw.IOError as error:
            raise TurnlogError(f"{self.path}: can't be written ({error}); the index stays as it was") from None

    def begin_again(self, damage: Exception) -> None:
        """Put it aside and make an empty one."""
        self.db.close()
        put_aside(self.path, f"is damaged ({damage})", self._tell)
        self.db = _connect(self.path, self._tell)

    @property
    def folder(self) -> Path:
        """The folder that it is in."""
        return self.path.parent

    @property
    def lock(self) -> Path:
        """The file whose lock a writer must hold."""
        return self.path.with_suffix(".lock")

    def status(self) -> Status:
        """What it holds."""
        one = self.db.execute
        return Status(
            str(self.path),
            self.db.pragma("page_count") * self.db.pragma("page_size"),
            *count_sessions(self.db),
            one("SELECT count(*) FROM file").get,
            one("SELECT count(*) FROM file WHERE gone IS NOT NULL").get,
            one("SELECT count(*) FROM file WHERE gone IS NULL AND head_hash = ''").get,
            one("SELECT coalesce(sum(offset), 0) FROM file").get,
            one("SELECT count(*) FROM text").get,
            one("SELECT count(DISTINCT key) FROM answer").get,
            one("SELECT count(DISTINCT id) FROM call").get,
        )


def _connect(path: Path, tell: Tell) -> apsw.Connection:
    try:
        db = _opened(path)
        with db:  # both from one moment: another process may be making it
            version = db.pragma("user_version")
            is_new = not db.execute("SELECT count(*) FROM sqlite_schema").get
    except DAMAGED as error:
        put_aside(path, f"is damaged ({error})", tell)
        return _connect(path, tell)
    if version != VERSION and not is_new:
        db.close()
        put_aside(path, "is of another version of turnlog", tell)
        return _connect(path, tell)
    if is_new:
        _create(db)
    return db


def _opened(path: Path) -> apsw.Connection:
    before = os.umask(0o077)  # what people said is in it
    try:
        db = apsw.Connection(str(path))
        db.set_busy_timeout(BUSY_MS)
        log_ahead(db)
    finally:
        os.umask(before)
    db.pragma("synchronous", "normal")
    db.pragma("temp_store", "memory")
    db.pragma("cache_size", -16_000)
    return db


def _create(db: apsw.Connection) -> None:
    schema = Path(__file__).with_name("schema.sql").read_text("utf-8")
    with writing(db):
        if db.execute("SELECT count(*) FROM sqlite_schema").get:
            return  # another process was faster
        db.execute(schema)
        prepare(db)
        db.pragma("user_version", VERSION)


def put_aside(path: Path, why: str, tell: Tell) -> None:
    """Take an index that can't be used out of the way; one of them is kept."""
    aside = path.with_name(path.name + ".old")
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    path.replace(aside)
    tell(f"{path} {why}; it is made again (the old one is {aside.name})")


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
