"""The queue on disk: the states that were reported, and the messages that are waiting for a channel.

A session's state and the messages about it are stored in one transaction. A message stays in the queue until
its channel has accepted or refused it, or it is too old. If the process is killed, no message is lost; a message that
was being sent at that moment is sent again with the same id.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec

from turnlog.errors import Busy, TurnlogError
from turnlog.notify.notification import Notification, combine_notifications, make_notification_id
from turnlog.notify.triggers import ALERT_KINDS, URGENT_KINDS, AlertRecord, decode_records, encode_record
from turnlog.store.database_damage import DAMAGE_ERRORS, check_log_places, is_database_damage
from turnlog.store.file_lock import enable_write_ahead_log, open_write_transaction

QUEUE_FILE_NAME = "notify.sqlite3"
MAX_WAITING = 1_000
"""How many messages may wait for one channel; beyond that, the oldest are dropped."""
LATE_AFTER_TRIES = 5
"""A message that failed this often lets the others go first."""
MIN_COMBINED_MESSAGES = 4
"""When this many messages wait for one channel, they are combined into one."""
_IS_URGENT = (
    '(instr(notice, CAST(\'"kind":"needs"\' AS BLOB)) > 0 OR instr(notice, CAST(\'"kind":"failed"\' AS BLOB)) > 0)'
)
"""Whether a row is urgent; a quotation mark inside a text is escaped, so no text looks like this."""
_QUEUE_VERSION = 1
_BUSY_TIMEOUT_MS = 30_000
_MAX_RECORD_AGE_SECONDS = 30 * 86_400.0
_MAX_PAGE_NOTICES = 50


class QueuedNotification(NamedTuple):
    """A message that is waiting for a channel."""

    id: int
    channel: str
    notice: Notification
    tries: int
    """How many times it was sent so far."""


class ChannelState(NamedTuple):
    """What happened to the messages of a channel."""

    name: str
    sent: int = 0
    succeeded: float | None = None
    dropped: int = 0
    fails: int = 0
    next_attempt: float | None = None
    failed: float | None = None
    error: str | None = None
    waiting: int = 0
    oldest: float | None = None


class PageNotification(NamedTuple):
    """A message for the open pages of the web app."""

    id: int
    created: float
    notice: Notification


class NotifyQueue:
    """One connection to the queue; not to be shared between threads."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = folder / QUEUE_FILE_NAME
        self._clock = clock
        self._db = _open_database(self.path)

    def __enter__(self) -> NotifyQueue:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def _change(self) -> Iterator[apsw.Connection]:
        with _explain_errors(self.path), open_write_transaction(self._db):
            yield self._db

    # -- what was notified

    def load_records(self) -> dict[str, AlertRecord]:
        """Load what is remembered about sessions."""
        with _explain_errors(self.path):
            rows: Any = self._db.execute("SELECT path, record FROM session").fetchall()
        return decode_records(rows)

    def store_changes(
        self,
        records: Mapping[str, AlertRecord],
        notices: Iterable[tuple[str, float, Notification]] = (),
        page_notices: Iterable[Notification] = (),
        outdated: Iterable[str] = (),
    ) -> None:
        """Store the state of sessions together with the messages about it: (channel, when it expires, message).

        Messages that are `outdated`, by id, are withdrawn if they were not delivered yet.
        """
        now = self._clock()
        with self._change() as db:
            for key in outdated:
                _withdraw_message(db, key)
            for path, record in records.items():
                db.execute("INSERT OR REPLACE INTO session VALUES (?, ?, ?)", (path, encode_record(record), now))
            for channel, expires, notice in notices:
                db.execute(
                    "INSERT INTO delivery (channel, created, expires, notice) VALUES (?, ?, ?, ?)",
                    (channel, now, expires, msgspec.json.encode(notice)),
                )
                self._drop_surplus(db, channel, now)
            for notice in page_notices:
                body = msgspec.json.encode(notice)
                db.execute("INSERT INTO page_notice (created, notice) VALUES (?, ?)", (now, body))
                limit = db.last_insert_rowid() - _MAX_PAGE_NOTICES
                db.execute("DELETE FROM page_notice WHERE id <= ?", (limit,))

    def prune_records(self) -> None:
        """Forget sessions that have not changed for a month."""
        with self._change() as db:
            db.execute("DELETE FROM session WHERE updated < ?", (self._clock() - _MAX_RECORD_AGE_SECONDS,))

    def _drop_surplus(self, db: apsw.Connection, channel: str, now: float) -> None:
        sql = (
            "DELETE FROM delivery WHERE channel = ? AND id <="
            " (SELECT id FROM delivery WHERE channel = ? ORDER BY id DESC LIMIT 1 OFFSET ?)"
        )
        db.execute(sql, (channel, channel, MAX_WAITING))
        if count := db.changes():
            self._record_drop(db, channel, count, now, "too many messages were waiting; the oldest were dropped")

    # -- delivery

    def begin_delivery(self, channel: str, *, is_urgent: bool | None = None) -> QueuedNotification | None:
        """Return the next message for a channel, counted as sent once more; None if nothing is due.

        `is_urgent` selects the messages that need a person at once, or the others.
        """
        with _explain_errors(self.path):
            if self.compute_wait(channel) != 0:
                return None
        selection = "" if is_urgent is None else f" AND {'' if is_urgent else 'NOT '}{_IS_URGENT}"
        with self._change() as db:
            self._drop_expired(db, channel)
            row: Any = db.execute(
                "UPDATE delivery SET tries = tries + 1 WHERE id = (SELECT id FROM delivery WHERE channel = ?"
                f"{selection} ORDER BY tries >= ?, id LIMIT 1) RETURNING id, notice, tries",
                (channel, LATE_AFTER_TRIES),
            ).fetchone()
            notice = _decode_notice(row[1]) if row is not None else None
            if row is not None and notice is None:  # it would block all others
                db.execute("DELETE FROM delivery WHERE id = ?", (row[0],))
                self._record_drop(db, channel, 1, self._clock(), "a message in the queue was damaged")
        return None if notice is None else QueuedNotification(row[0], channel, notice, row[2] - 1)

    def compute_wait(self, channel: str) -> float | None:
        """Return the seconds until a message for a channel is due; return None if no message is waiting."""
        with _explain_errors(self.path):
            row: Any = self._db.execute(
                "SELECT since, until FROM delivery LEFT JOIN channel ON name = channel WHERE channel = ? LIMIT 1",
                (channel,),
            ).fetchone()
        if row is None:
            return None
        since, until = row
        now = self._clock()
        # A pause that would start in the future was stored before the clock was set back.
        return max(until - now, 0.0) if until is not None and since <= now else 0.0

    def mark_sent(self, queued: QueuedNotification) -> None:
        """Record that the channel has accepted a message."""
        with self._change() as db:
            db.execute("DELETE FROM delivery WHERE id = ?", (queued.id,))
            self._add_channel(db, queued.channel)
            db.execute(
                "UPDATE channel SET sent = sent + 1, succeeded = ?, fails = 0, since = NULL, until = NULL"
                " WHERE name = ?",
                (self._clock(), queued.channel),
            )

    def postpone_message(self, queued: QueuedNotification, error: str, pause: float) -> None:
        """Record that the channel doesn't accept messages now, and pause it for some seconds."""
        now = self._clock()
        with self._change() as db:
            self._add_channel(db, queued.channel)
            db.execute(
                "UPDATE channel SET fails = fails + 1, since = ?, until = ?, failed = ?, error = ? WHERE name = ?",
                (now, now + pause, now, _to_storable_text(error), queued.channel),
            )

    def drop_message(self, queued: QueuedNotification, error: str) -> None:
        """Record that the channel will never accept a message, and remove it."""
        with self._change() as db:
            db.execute("DELETE FROM delivery WHERE id = ?", (queued.id,))
            self._record_drop(db, queued.channel, 1, self._clock(), error)
            db.execute("UPDATE channel SET fails = 0, since = NULL, until = NULL WHERE name = ?", (queued.channel,))

    def count_fails(self, channel: str) -> int:
        """Return how many times a channel has failed since its last success."""
        with _explain_errors(self.path):
            return int(self._db.execute("SELECT fails FROM channel WHERE name = ?", (channel,)).get or 0)

    def combine_messages(self, channel: str) -> None:
        """Combine the messages that wait for a channel, if there are many that are equally urgent.

        One that was sent before keeps its id.
        """
        sql = "SELECT id, created, expires, notice FROM delivery WHERE channel = ? AND tries = 0 ORDER BY id"
        with _explain_errors(self.path):
            if int(self._db.execute("SELECT count(*) FROM delivery WHERE channel = ?", (channel,)).get) < (
                MIN_COMBINED_MESSAGES
            ):
                return
        with self._change() as db:
            rows: list[Any] = db.execute(sql, (channel,)).fetchall()
            waiting = [
                (row, notice) for row in rows if (notice := _decode_notice(row[3])) and notice.kind in ALERT_KINDS
            ]
            for is_urgent in (True, False):
                alike = [one for one in waiting if (one[1].kind in URGENT_KINDS) == is_urgent]
                if len(alike) >= MIN_COMBINED_MESSAGES:
                    self._replace_messages(db, channel, alike)

    def _replace_messages(self, db: apsw.Connection, channel: str, waiting: Sequence[tuple[Any, Notification]]) -> None:
        combined = combine_notifications([notice for _, notice in waiting], make_notification_id())
        db.executemany("DELETE FROM delivery WHERE id = ?", [(row[0],) for row, _ in waiting])
        db.execute(
            "INSERT INTO delivery (channel, created, expires, notice) VALUES (?, ?, ?, ?)",
            (channel, waiting[0][0][1], max(row[2] for row, _ in waiting), msgspec.json.encode(combined)),
        )

    def _drop_expired(self, db: apsw.Connection, channel: str) -> None:
        now = self._clock()
        db.execute("DELETE FROM delivery WHERE channel = ? AND expires < ?", (channel, now))
        if count := db.changes():
            self._record_drop(db, channel, count, now, None)

    def _record_drop(self, db: apsw.Connection, channel: str, count: int, now: float, error: str | None) -> None:
        """Count dropped messages; the error of an expired one is that of the last attempt."""
        self._add_channel(db, channel)
        db.execute(
            "UPDATE channel SET dropped = dropped + ?, failed = ?, error = coalesce(?, error) WHERE name = ?",
            (count, now, error and _to_storable_text(error), channel),
        )

    def _add_channel(self, db: apsw.Connection, name: str) -> None:
        db.execute("INSERT OR IGNORE INTO channel (name) VALUES (?)", (name,))

    # -- reading

    def list_channel_states(self) -> list[ChannelState]:
        """List the channels that have ever had a message."""
        sql = (
            "SELECT name, coalesce(sent, 0), succeeded, coalesce(dropped, 0), coalesce(fails, 0), until, failed, error,"
            " count(delivery.id), min(created)"
            " FROM (SELECT name FROM channel UNION SELECT channel FROM delivery) LEFT JOIN channel USING (name)"
            " LEFT JOIN delivery ON delivery.channel = name GROUP BY name ORDER BY name"
        )
        with _explain_errors(self.path):
            states = [ChannelState(*row) for row in self._db.execute(sql)]
        return [state if state.waiting else state._replace(next_attempt=None) for state in states]

    def list_page_notices(self, after: int) -> list[PageNotification]:
        """List the messages for pages that are newer than a given one."""
        with _explain_errors(self.path):
            rows: list[Any] = self._db.execute(
                "SELECT id, created, notice FROM page_notice WHERE id > ? ORDER BY id", (after,)
            ).fetchall()
        return [PageNotification(row[0], row[1], notice) for row in rows if (notice := _decode_notice(row[2]))]

    def find_last_page_notice(self) -> int:
        """Return the number of the latest message for pages."""
        with _explain_errors(self.path):
            return int(self._db.execute("SELECT max(id) FROM page_notice").get or 0)


def _withdraw_message(db: apsw.Connection, key: str) -> None:
    """Remove a message, or its part of a combined one."""
    sql = "SELECT id, notice, tries FROM delivery WHERE instr(notice, ?)"
    rows: list[Any] = db.execute(sql, (key.encode(),)).fetchall()
    for row_id, data, tries in rows:
        notice = _decode_notice(data)
        if notice is None:
            continue
        rest = [member for member in notice.members if member.id != key]
        if notice.id == key or not rest:
            db.execute("DELETE FROM delivery WHERE id = ?", (row_id,))
        elif len(rest) < len(notice.members):
            # A message that was sent before may have arrived, so it keeps its id even with a single member.
            fewer = rest[0] if len(rest) == 1 and not tries else combine_notifications(rest, notice.id)
            db.execute("UPDATE delivery SET notice = ? WHERE id = ?", (msgspec.json.encode(fewer), row_id))


def _open_database(path: Path) -> apsw.Connection:
    with _explain_errors(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            check_log_places(path)
            db = apsw.Connection(str(path))
            try:
                _set_up(db, path)
            except BaseException:
                db.close()
                raise
        except apsw.Error as error:
            if is_database_damage(error, path):
                raise _build_damage_error(path, error) from None
            raise
        return db


def _set_up(db: apsw.Connection, path: Path) -> None:
    db.set_busy_timeout(_BUSY_TIMEOUT_MS)
    enable_write_ahead_log(db)
    db.pragma("synchronous", "full")
    if db.pragma("user_version") == 0:
        schema = Path(__file__).with_name("queue.sql").read_text("utf-8")
        with open_write_transaction(db):
            if db.pragma("user_version") == 0:  # another process may have been faster
                db.execute(schema)
                db.pragma("user_version", _QUEUE_VERSION)
    if (version := db.pragma("user_version")) != _QUEUE_VERSION:
        raise TurnlogError(
            f"{path} was written by a different version of turnlog ({version}); use that version,"
            " or move the file aside"
        )


def _build_damage_error(path: Path, error: apsw.Error) -> TurnlogError:
    return TurnlogError(f"{path} is damaged ({error}); move it aside, which drops the messages that are waiting")


@contextmanager
def _explain_errors(path: Path) -> Iterator[None]:
    """Describe in one line why the queue can't be read or written."""
    try:
        yield
    except apsw.FullError:
        raise TurnlogError(f"{path}: the disk is full; free some space and try again") from None
    except apsw.BusyError:
        raise Busy(f"{path}: another process keeps writing to it; try again") from None
    except DAMAGE_ERRORS as error:
        raise _build_damage_error(path, error) from None
    except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.IOError, apsw.PermissionsError) as error:
        raise TurnlogError(f"{path}: not writable ({error}); check the permissions of the folder") from None
    except OSError as error:
        raise TurnlogError(f"{path}: {error.strerror or error}") from None


def _decode_notice(data: object) -> Notification | None:
    """Decode a stored message; None if it can't be decoded."""
    try:
        return msgspec.json.decode(data, type=Notification) if isinstance(data, bytes | str) else None
    except (msgspec.DecodeError, ValueError):
        return None


def _to_storable_text(text: str) -> str:
    """Replace lone surrogates, which SQLite can't store."""
    return text.encode("utf-8", "backslashreplace").decode()
