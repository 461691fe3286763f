"""Keeps the profile in one SQLite file in turnlog's data folder: `quest.sqlite3`.

A session's rows change in one transaction together with the keys of the deeds that they count. So every deed counts
once, no matter how many tabs and processes watch, or whether one of them is killed. A reader never creates the file.
A damaged file is set aside, and the new one remembers that until `--rebuild` has counted everything again. A file of
a newer version is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from turnlog.errors import Busy, TurnlogError
from turnlog.store.database_damage import is_database_damage, put_database_aside
from turnlog.store.file_lock import open_write_transaction, try_lock_file

PROFILE_FILE_NAME = "quest.sqlite3"
PROFILE_VERSION = 1
"""The version of the tables; a profile of a newer version is not touched."""
BUSY_TIMEOUT_MS = 60_000
_APPLICATION_ID = 0x74_6C_71_31
_LOCK_FILE_NAME = "quest.lock"
_SCHEMA = """
CREATE TABLE deed (key INTEGER PRIMARY KEY, session INTEGER NOT NULL);
CREATE INDEX deed_by_session ON deed (session);
CREATE TABLE session (
    id INTEGER PRIMARY KEY,
    uuid TEXT NOT NULL UNIQUE,
    progress BLOB NOT NULL,
    xp INTEGER NOT NULL DEFAULT 0,
    reads INTEGER NOT NULL DEFAULT 0,
    writes INTEGER NOT NULL DEFAULT 0,
    commands INTEGER NOT NULL DEFAULT 0,
    commands_ok INTEGER NOT NULL DEFAULT 0,
    best_streak INTEGER NOT NULL DEFAULT 0,
    calls INTEGER NOT NULL DEFAULT 0,
    thoughts INTEGER NOT NULL DEFAULT 0,
    thoughts_hard INTEGER NOT NULL DEFAULT 0,
    thoughts_harder INTEGER NOT NULL DEFAULT 0,
    thoughts_ultra INTEGER NOT NULL DEFAULT 0,
    todos INTEGER NOT NULL DEFAULT 0,
    agents INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0,
    flow_peaks INTEGER NOT NULL DEFAULT 0,
    bonus TEXT,
    first_seen TEXT,
    last_seen TEXT
);
CREATE INDEX session_by_time ON session (last_seen);
CREATE TABLE chest (
    id TEXT PRIMARY KEY, state TEXT NOT NULL, offers TEXT NOT NULL, item TEXT, skipped INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE worn (slot TEXT PRIMARY KEY, item TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE note (name TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
"""


class DamagedProfile(TurnlogError):
    """The profile's file is damaged."""


class ProfileFile:
    """The file of a profile, opened for each use, so that it can be set aside at any time."""

    def __init__(self, data_dir: Path, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> None:
        self.folder = data_dir
        self._busy_timeout_ms = busy_timeout_ms
        self.path = data_dir / PROFILE_FILE_NAME

    @contextmanager
    def read(self) -> Iterator[apsw.Connection | None]:
        """Open the profile to read it in one transaction; yield None if there is none yet."""
        if not self.path.exists():
            yield None
            return
        with self._explain_failures(), self._connect(apsw.SQLITE_OPEN_READWRITE) as db:
            db.pragma("query_only", True)
            db.execute("BEGIN")
            yield db

    @contextmanager
    def write(self) -> Iterator[apsw.Connection]:
        """Open the profile in a transaction that writes; create it if there is none, and set a damaged one aside."""
        self._prepare()
        with self._explain_failures(), self._connect(apsw.SQLITE_OPEN_READWRITE) as db, open_write_transaction(db):
            yield db

    def _prepare(self) -> None:
        """Create the file, or replace a damaged one."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.path.exists():
                self._check_quickly()
                return
            self._create(None)
        except DamagedProfile:
            with try_lock_file(self.folder / _LOCK_FILE_NAME) as is_mine:
                if is_mine:
                    self._replace_damaged()
        except OSError as error:
            raise TurnlogError(f"{self.path}: {error.strerror or error}; nothing was counted") from None

    def _check_quickly(self) -> None:
        with self._explain_failures(), self._connect(apsw.SQLITE_OPEN_READWRITE) as db:
            db.execute("SELECT name FROM note LIMIT 1").fetchall()

    def _replace_damaged(self) -> None:
        try:
            self._check_quickly()  # another process may have replaced it in the meantime
        except DamagedProfile as error:
            aside = put_database_aside(self.path)
            self._create(f"{error}; it was set aside as {aside.name}; run `turnlog quest profile --rebuild`")

    def _create(self, problem: str | None) -> None:
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        with self._explain_failures():
            db = apsw.Connection(str(self.path), flags)
            try:
                db.set_busy_timeout(self._busy_timeout_ms)
                with open_write_transaction(db):
                    if db.pragma("user_version") == 0:  # otherwise another process was faster
                        db.execute(_SCHEMA)
                        db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                        db.execute(f"PRAGMA user_version = {PROFILE_VERSION}")
                        if problem:
                            db.execute("INSERT INTO note VALUES ('problem', ?)", (problem,))
            finally:
                db.close()
        self.path.chmod(0o600)

    @contextmanager
    def _connect(self, flags: int) -> Iterator[apsw.Connection]:
        db = apsw.Connection(str(self.path), flags)
        try:
            db.set_busy_timeout(self._busy_timeout_ms)
            self._check_version(db)
            yield db
        finally:
            db.close()

    def _check_version(self, db: apsw.Connection) -> None:
        version, application = db.pragma("user_version"), db.pragma("application_id")
        if application == _APPLICATION_ID and version == PROFILE_VERSION:
            return
        if application == _APPLICATION_ID and version > PROFILE_VERSION:
            raise TurnlogError(f"{self.path}: written by a newer turnlog (version {version}); update turnlog")
        raise DamagedProfile(f"{self.path}: not a profile of the quest")

    @contextmanager
    def _explain_failures(self) -> Iterator[None]:
        try:
            yield
        except apsw.BusyError:
            raise Busy(f"{self.path}: another process is holding the profile locked; try again later") from None
        except apsw.FullError:
            raise TurnlogError(f"{self.path}: the disk is full; nothing was counted") from None
        except apsw.Error as error:
            if is_database_damage(error, self.path):
                raise DamagedProfile(f"{self.path}: the profile is damaged ({error})") from None
            raise TurnlogError(f"{self.path}: {error}") from None
