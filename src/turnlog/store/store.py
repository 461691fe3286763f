"""The index of all sessions: one SQLite file in turnlog's data folder, created when missing and rebuilt when outdated.

Everything except its data about deleted sessions can be recovered, so an index that is damaged, or that a different
version wrote, is moved aside and rebuilt, and the user is notified. If the folder isn't writable or its disk is full,
the index is copied to, or built in, a temporary folder and lasts as long as the program.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import apsw

from turnlog.errors import Busy, TurnlogError
from turnlog.store.database_damage import DAMAGE_ERRORS, check_log_places, is_database_damage, put_database_aside
from turnlog.store.file_lock import enable_write_ahead_log, open_write_transaction, try_lock_file
from turnlog.store.index.file_changes import TranscriptLister
from turnlog.store.index.fill_lock import hold_index_lock
from turnlog.store.index.full_text_pieces import prepare_full_text
from turnlog.store.index.refresh import RefreshResult, ignore_progress, refresh_index
from turnlog.store.index.shards import (
    COUNT_TEXTS,
    SHARD_FAULT_START,
    attach_shards,
    get_shard_path,
    list_attached_shards,
    list_full_text_tables,
    list_schemas,
    list_shard_files,
    put_shards_aside,
)
from turnlog.store.index_file_name import DEFAULT_INDEX_NAME, INDEX_VERSION
from turnlog.store.old_indexes import adopt_old_index
from turnlog.store.session_counts import count_sessions

if TYPE_CHECKING:
    from turnlog.store.index.refresh_work import RefreshProgress

BUSY_TIMEOUT_MS = 10_000
REPLACED_FAULT_START = "the index was damaged and has been moved aside"
_PLAIN_TABLES = ("name", "session", "file", "folder", "answer", "spend", "call", "text", "run", "identifier", "fact")
_FULL_DISK_ADVICE = "the disk is full; free some space, or set TURNLOG_HOME to a different folder"
_MIN_FREE_BYTES = 1 << 16
"""The smallest log and its index take this much."""
_UNWRITABLE_ERRORS = (apsw.ReadOnlyError, apsw.CantOpenError, apsw.IOError, apsw.PermissionsError)


TellUser = Callable[[str], object]
"""A callback that receives one line for the user."""


class IndexStatus(NamedTuple):
    path: str
    size: int
    """The size of the index and its shards in bytes once their logs are merged."""
    sessions: int
    without_conversation: int
    without_transcript: int
    files: int
    gone: int
    """Files that Claude Code or somebody else has deleted."""
    unread: int
    """Files that have not been read yet, because indexing was interrupted."""
    read: int
    """The number of bytes that have been read from the files."""
    texts: int
    messages: int
    calls: int


class Store:
    def __init__(self, path: Path, tell: TellUser, *, is_temporary: bool) -> None:
        self.path = path
        self.is_temporary = is_temporary
        self.damage: list[str] = []
        """What was damaged and has been moved aside; the next refresh reads it again."""
        self._tell = tell
        self.db = self._connect_index()

    @classmethod
    def open(cls, folder: Path, tell: TellUser = str, name: str = DEFAULT_INDEX_NAME) -> Store:
        """Open the index in a folder; create it if there is none."""
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            adopt_old_index(folder / name)
            store = cls(folder / name, tell, is_temporary=False)
            with try_lock_file(store.lock):  # opening succeeds even on a read-only disk; locking doesn't
                pass
            store.update_shards()
            return store
        except apsw.BusyError:
            raise Busy(f"{folder / name}: another process is holding the index locked; try again later") from None
        except (OSError, apsw.FullError, *_UNWRITABLE_ERRORS) as error:
            path = _make_temporary_copy(folder / name, error, tell)
        try:
            return cls(path, tell, is_temporary=True)
        except apsw.FullError:
            raise TurnlogError(f"{path.parent}: {_FULL_DISK_ADVICE}") from None

    def update_shards(self) -> None:
        """Attach the shards that the index has by now, and give up those that are missing or unusable."""
        if self.db.in_transaction:
            return
        try:
            unusable = attach_shards(self.db)
        except (apsw.LockedError, apsw.SQLError, *DAMAGE_ERRORS):
            return  # a query is still reading from them, or the index itself is damaged, which its reader will report
        if unusable:
            self._give_up_shards(unusable)

    def _give_up_shards(self, numbers: Sequence[int]) -> bool:
        """Move shards aside, so that their part is read again; return whether the lock was free."""
        from turnlog.store.index.shard_repair import drop_shards

        with hold_index_lock(self.lock) as is_ours:
            if is_ours:
                drop_shards(self.db, numbers)
        self.damage += [f"{SHARD_FAULT_START}{number}: missing or damaged" for number in numbers]
        names = ", ".join(get_shard_path(self.path, number).name for number in numbers)
        self._tell(f"{self.folder / names}: missing or damaged; this part of the index will be rebuilt")
        return is_ours

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the index; delete it if it is in a temporary folder."""
        self.db.close()
        if self.is_temporary:
            import shutil

            shutil.rmtree(self.path.parent, ignore_errors=True)

    def refresh(
        self,
        config_dirs: Sequence[Path],
        progress: RefreshProgress = ignore_progress,
        lister: TranscriptLister | None = None,
        *,
        is_whole: bool = True,
        is_stopped: Callable[[], bool] = lambda: False,
        leaves_identifiers: bool = False,
    ) -> RefreshResult:
        """Bring the index up to date, or until `is_stopped` returns True; rebuild it if it turns out to be damaged.

        Unless `is_whole` is set, the rest of large changes is left to a filler (`store.fill_process`); with
        `leaves_identifiers`, so are the parts of their identifiers.
        """

        def refresh() -> RefreshResult:
            return refresh_index(
                self.db,
                self.lock,
                config_dirs,
                progress,
                lister,
                is_whole=is_whole,
                is_stopped=is_stopped,
                leaves_identifiers=leaves_identifiers,
            )

        try:
            return self._try_refresh(refresh)
        except (apsw.Error, UnicodeDecodeError) as error:
            if not self.shows_damage(error):
                self.check_permissions(error)
                raise
            self.discard_damage(error)
            return self._try_refresh(refresh)

    def _try_refresh(self, refresh: Callable[[], RefreshResult]) -> RefreshResult:
        try:
            return refresh()
        except apsw.FullError as error:
            if self.is_temporary:
                raise TurnlogError(f"{self.path}: {_FULL_DISK_ADVICE}") from None
            self._continue_in_temporary_folder(error)
            return self._try_refresh(refresh)
        except apsw.BusyError:
            raise Busy(f"{self.path}: another process is holding the index locked; try again later") from None

    def _continue_in_temporary_folder(self, error: Exception) -> None:
        self.db.close()
        self.path = _make_temporary_copy(self.path, error, self._tell)
        self.is_temporary = True
        self.db = self._connect_index()
        self.update_shards()

    def check_permissions(self, error: Exception) -> None:
        """Turn an error that shows no damage into one with a remedy if files could not be opened, read or written."""
        if isinstance(error, _UNWRITABLE_ERRORS):
            raise TurnlogError(
                f"{self.path}: can't use the index ({error}); check the permissions and the free space of this folder,"
                " or delete the files of the index"
            ) from None

    def shows_damage(self, error: apsw.Error | UnicodeDecodeError) -> bool:
        """Return whether an error is caused by damage to the file rather than by the statement that raised it."""
        if isinstance(error, DAMAGE_ERRORS):
            return True
        if isinstance(error, UnicodeDecodeError):  # SQLite doesn't look into the text that it returns
            from turnlog.store.index.shard_repair import is_index_damaged

            return is_index_damaged(self.db)
        if isinstance(error, apsw.ReadOnlyError):  # of any of the files, which may lack a permission
            shards = [get_shard_path(self.path, number) for number in list_attached_shards(self.db)]
            return all(is_database_damage(error, path) for path in (self.path, *shards))
        if not isinstance(error, apsw.SQLError):
            return isinstance(error, _UNWRITABLE_ERRORS) and is_database_damage(error, self.path)
        try:
            for table in _PLAIN_TABLES:
                self.db.execute(f"SELECT * FROM {table} LIMIT 1").fetchall()
            tables = [*list_full_text_tables(self.db), *((schema, "hump") for schema in list_schemas(self.db))]
            for schema, table in tables:
                self.db.execute(f"SELECT 1 FROM {schema}.{table} WHERE {table} MATCH ?", ("any",)).fetchone()
        except (apsw.SQLError, *DAMAGE_ERRORS):
            return True
        return False

    def discard_damage(self, damage: Exception) -> bool:
        """Move damaged shards aside or, if the damage is elsewhere, everything; return whether it was only shards."""
        if self.give_up_damaged_shards():
            return True
        self.db.close()
        with hold_index_lock(self.lock) as is_ours:
            if not is_ours:
                raise Busy(
                    f"{self.path}: the index is damaged, and another turnlog process is using it; try again later"
                )
            self._put_damaged_aside(damage)
        self.db = self._connect_index()
        return False

    def _connect_index(self) -> apsw.Connection:
        """Open a usable index; move an index aside if it is still unusable once the lock is held."""
        try:
            return _open_checked(self.path)
        except (apsw.Error, _OtherIndexVersion) as error:
            if isinstance(error, apsw.Error) and not is_database_damage(error, self.path):
                raise
        with hold_index_lock(self.lock) as is_ours:
            if not is_ours:
                raise Busy(
                    f"{self.path}: the index is damaged or from a different version, and another turnlog process is"
                    " using it; try again later"
                )
            try:
                return _open_checked(self.path)
            except _OtherIndexVersion:
                self._put_aside("was written by a different version of turnlog")
            except apsw.Error as error:
                if not is_database_damage(error, self.path):
                    raise
                self._put_damaged_aside(error)
            return _open_checked(self.path)

    def _put_damaged_aside(self, damage: Exception) -> None:
        self._put_aside(f"is damaged ({damage})")
        self.damage.append(f"{REPLACED_FAULT_START}: {damage}")

    def _put_aside(self, why: str) -> None:
        from turnlog.store.filler import forget_failure

        aside = put_database_aside(self.path)
        put_shards_aside(self.path)
        forget_failure(self.path)
        self._tell(f"{self.path} {why}; it will be rebuilt (the old file is kept as {aside.name})")

    def give_up_damaged_shards(self) -> bool:
        """Move damaged shards aside, so that the next refresh fills them again; return whether there were any."""
        from turnlog.store.index.shard_repair import find_damaged_shards

        numbers = find_damaged_shards(self.db)
        return bool(numbers) and self._give_up_shards(numbers)

    @property
    def folder(self) -> Path:
        return self.path.parent

    @property
    def lock(self) -> Path:
        """The file whose lock a writer must hold."""
        return self.path.with_suffix(".lock")

    def status(self) -> IndexStatus:
        one = self.db.execute
        return IndexStatus(
            str(self.path),
            sum(self._measure_size(name) for name in list_schemas(self.db)),
            *count_sessions(self.db),
            one("SELECT count(*) FROM file").get,
            one("SELECT count(*) FROM file WHERE gone IS NOT NULL").get,
            one("SELECT count(*) FROM file WHERE gone IS NULL AND head_hash = ''").get,
            one("SELECT coalesce(sum(offset), 0) FROM file").get,
            one(COUNT_TEXTS).get,
            one("SELECT count(DISTINCT key) FROM answer").get,
            one("SELECT count(DISTINCT id) FROM call").get,
        )

    def _measure_size(self, schema: str) -> int:
        return int(self.db.pragma("page_count", schema=schema) * self.db.pragma("page_size", schema=schema))


def _make_temporary_copy(index: Path, error: Exception, tell: TellUser) -> Path:
    """Copy an index that can't be changed where it is, if there is one, to a temporary folder; return the new path."""
    import shutil
    from tempfile import mkdtemp

    try:
        path = Path(mkdtemp(prefix="turnlog-")) / index.name
    except OSError as failure:
        raise TurnlogError(f"{failure.filename}: {failure.strerror}; {_FULL_DISK_ADVICE}") from None
    how = "builds the index"
    try:
        for source in (index, *list_shard_files(index)):
            for ending in ("", "-wal"):
                part = source.with_name(source.name + ending)
                if part.is_file() and source.stat().st_size:  # an empty one could not be created for lack of space
                    shutil.copyfile(part, path.with_name(part.name))
                    how = "uses a copy of the index"
    except OSError:  # not readable, or too large for that disk; what was copied is incomplete
        shutil.rmtree(path.parent, ignore_errors=True)
        path.parent.mkdir(mode=0o700)
        how = "builds the index"
    reason = "the disk is full" if _is_disk_full(index.parent) else _describe_error(error)
    tell(f"{index.parent}: {reason}; this run {how} in a temporary folder")
    return path


def _is_disk_full(folder: Path) -> bool:
    """Return whether a disk has no room for a log; SQLite reports that as an I/O error or as missing permission."""
    import shutil

    try:
        return shutil.disk_usage(folder).free < _MIN_FREE_BYTES
    except OSError:
        return False


class _OtherIndexVersion(Exception): ...


def _open_checked(path: Path) -> apsw.Connection:
    """Open or create an index; raise an error with the reason if it can't be used."""
    check_log_places(path)
    db = _open_connection(path)
    try:
        with db:  # read both in one transaction: another process may be creating it
            version = db.pragma("user_version")
            is_new = not db.execute("SELECT count(*) FROM sqlite_schema").get
        if db.readonly("main"):
            raise apsw.ReadOnlyError("attempt to write a readonly database")
        if version != INDEX_VERSION and not is_new:
            raise _OtherIndexVersion
        if is_new:
            _create_tables(db)
    except BaseException:
        db.close()
        raise
    return db


def _open_connection(path: Path) -> apsw.Connection:
    before = os.umask(0o077)  # it contains what people wrote
    db = None
    try:
        db = apsw.Connection(str(path))
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        enable_write_ahead_log(db)
    except BaseException:
        if db is not None:
            db.close()
        raise
    finally:
        os.umask(before)
    db.pragma("synchronous", "normal")
    db.pragma("temp_store", "memory")
    db.pragma("cache_size", -16_000)
    return db


def _create_tables(db: apsw.Connection) -> None:
    schema = Path(__file__).with_name("schema.sql").read_text("utf-8")
    with open_write_transaction(db):
        if db.execute("SELECT count(*) FROM sqlite_schema").get:
            return  # another process was faster
        db.execute(schema)
        prepare_full_text(db)
        db.pragma("user_version", INDEX_VERSION)


def _describe_error(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
