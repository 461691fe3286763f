"""The outbox file: created if missing, readable only by its owner, and synced to disk after every change.

Its content can't be rebuilt, so a file that is damaged or from a different version is left unchanged, with a clear
error.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from turnlog.errors import Busy, TurnlogError
from turnlog.store.database_damage import DAMAGE_ERRORS, check_log_places, is_database_damage
from turnlog.store.file_lock import enable_write_ahead_log, open_write_transaction

LEDGER_VERSION = 1
BUSY_TIMEOUT_MS = 30_000
"""How long a process waits while another one is writing."""


def open_ledger(path: Path) -> apsw.Connection:
    """Open an outbox file; create it if there is none."""
    with explain_ledger_errors(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make_private(path)
        try:
            return _open(path)
        except apsw.Error as error:
            if is_database_damage(error, path):
                raise _build_damage_error(path, error) from None
            raise


def _open(path: Path) -> apsw.Connection:
    check_log_places(path)
    db = apsw.Connection(str(path))
    try:
        _set_up(db, path)
        if db.readonly("main"):
            raise apsw.ReadOnlyError("attempt to write a readonly database")
    except BaseException:
        db.close()
        raise
    return db


def _build_damage_error(path: Path, error: apsw.Error) -> TurnlogError:
    return TurnlogError(
        f"{path}: damaged ({error}); to start over, move the file aside (earlier spans will then be sent again)"
    )


def _make_private(path: Path) -> None:
    # Only if it doesn't exist: closing a file that SQLite has open releases its locks.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _set_up(db: apsw.Connection, path: Path) -> None:
    db.set_busy_timeout(BUSY_TIMEOUT_MS)
    is_new = db.pragma("user_version") == 0
    if is_new:
        db.pragma("auto_vacuum", "incremental")  # has no effect later
    enable_write_ahead_log(db)
    db.pragma("synchronous", "full")
    db.pragma("cache_size", -8_000)  # KB: claims are hashes, so those of a session are spread over the whole file
    if is_new:
        _create_schema(db)
    if (version := db.pragma("user_version")) != LEDGER_VERSION:
        raise TurnlogError(
            f"{path}: written by a different version of turnlog ({version}); use that version, or move the file aside"
        )


def _create_schema(db: apsw.Connection) -> None:
    schema = Path(__file__).with_name("ledger.sql").read_text("utf-8")
    with open_write_transaction(db):
        if db.pragma("user_version") == 0:  # another process may have done this already
            db.execute(schema)
            db.pragma("user_version", LEDGER_VERSION)


@contextmanager
def explain_ledger_errors(path: Path) -> Iterator[None]:
    """Convert errors from SQLite and the system to one-line errors that explain why the file can't be used."""
    try:
        yield
    except apsw.FullError:
        raise TurnlogError(f"{path}: the disk is full, but nothing was lost; free some space and try again") from None
    except apsw.BusyError:
        raise Busy(f"{path}: another process keeps writing to it; try again") from None
    except DAMAGE_ERRORS as error:
        raise _build_damage_error(path, error) from None
    except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.IOError, apsw.PermissionsError) as error:
        raise TurnlogError(f"{path}: not writable ({error}); nothing was lost") from None
    except OSError as error:
        raise TurnlogError(f"{path}: {error.strerror or error}") from None
