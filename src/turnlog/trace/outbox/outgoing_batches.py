"""The outgoing batches of the outbox: which of them are due, and their results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import apsw

from turnlog.store.file_lock import open_write_transaction
from turnlog.trace.outbox.ledger import explain_ledger_errors
from turnlog.trace.outbox.target_status import compute_pause_left, split_span_ids
from turnlog.trace.wire.batch import SpanBatch

LATE_AFTER_TRIES = 5
"""After this many attempts, a batch is tried only if there is no other, because it may make the server fail."""
_NEXT_BATCH_SQL = (
    "SELECT tries >= ?, place, part, id FROM batch WHERE target = ? AND state = ? ORDER BY place, part LIMIT 1"
)


class PendingBatch(NamedTuple):
    """A batch that is due."""

    id: int
    target: str
    batch: SpanBatch
    tries: int
    """How many times sending was attempted."""
    fails: int
    """How many times the target has failed since its last success."""


class _NextBatch(NamedTuple):
    id: int
    wait: float
    """The number of seconds until the target may be tried."""


class OutgoingBatches:
    """The waiting batches of an open outbox; each thread needs its own."""

    def __init__(self, db: apsw.Connection, path: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._db = db
        self._clock = clock

    @contextmanager
    def hold_transaction(self) -> Iterator[None]:
        """Combine several changes, all or nothing, with a single sync to disk."""
        with explain_ledger_errors(self.path):
            if self._db.in_transaction:
                yield
            else:
                with open_write_transaction(self._db):
                    yield

    def find_due_batch(self, target: str, now: float) -> PendingBatch | None:
        """Return the oldest batch for a target, unless the target is paused."""
        sql = (
            "SELECT trace, ids, bytes, tries, fails FROM batch JOIN target ON target.id = target"
            " JOIN body ON body.batch = batch.id WHERE batch.id = ?"
        )
        with explain_ledger_errors(self.path):
            upcoming = self._find_next(target, now)
            row = (
                self._db.execute(sql, (upcoming.id,)).fetchone()
                if upcoming is not None and upcoming.wait == 0
                else None
            )
        if upcoming is None or row is None:  # another process did this first
            return None
        trace, ids, body, tries, fails = row
        return PendingBatch(upcoming.id, target, SpanBatch(trace, split_span_ids(ids), body), tries, fails)

    def compute_wait(self, target: str, now: float) -> float | None:
        """Return how many seconds remain until the next batch for a target is due; None if there is no batch."""
        with explain_ledger_errors(self.path):
            upcoming = self._find_next(target, now)
        return upcoming.wait if upcoming is not None else None

    def _find_next(self, target: str, now: float) -> _NextBatch | None:
        row = self._db.execute("SELECT id, since, until FROM target WHERE key = ?", (target,)).fetchone()
        if row is None:
            return None
        number, since, until = row
        rows = [
            self._db.execute(_NEXT_BATCH_SQL, (LATE_AFTER_TRIES, number, state)).fetchone()
            for state in ("flying", "waiting", "late")
        ]
        first = min(filter(None, rows), default=None)
        return _NextBatch(first[-1], compute_pause_left(since, until, now)) if first else None

    def begin(self, pending: PendingBatch) -> bool:
        """Mark a batch as being sent before sending it; return False if it no longer exists.

        If the batch is already marked, its sender died and the batch may have arrived, so it is counted as a repeat.
        """
        sql = (
            "UPDATE batch SET unsure = unsure OR state = 'flying', state = 'flying', tries = tries + 1"
            " WHERE id = ? AND state <> 'quarantined' RETURNING target, unsure, spans"
        )
        with self.hold_transaction():
            row = self._db.execute(sql, (pending.id,)).fetchone()
            if row is not None and row[1]:
                self._db.execute(
                    "UPDATE target SET repeats = repeats + 1, repeated_spans = repeated_spans + ? WHERE id = ?",
                    (row[2], row[0]),
                )
        return row is not None

    def mark_sent(self, pending: PendingBatch, warning: str | None = None) -> None:
        """Record that the target has received a batch; `warning` is the target's message if it accepted only a part."""
        with self.hold_transaction():
            row = self._db.execute("DELETE FROM batch WHERE id = ? RETURNING target, spans", (pending.id,)).fetchone()
            if row is None:
                return  # already recorded
            now = self._clock()
            self._db.execute(
                "UPDATE target SET sent = sent + 1, sent_spans = sent_spans + ?, succeeded = ?,"
                " fails = 0, since = NULL, until = NULL WHERE id = ?",
                (row[1], now, row[0]),
            )
            if warning is not None:
                self._db.execute(
                    "UPDATE target SET partials = partials + 1, warned = ?, warning = ? WHERE id = ?",
                    (now, to_storable_text(warning), row[0]),
                )

    def postpone_batch(self, pending: PendingBatch, error: str, until: float, *, unsure: bool = False) -> None:
        """Pause the target, which doesn't accept a batch now; `unsure` means that the batch may have arrived."""
        now = self._clock()
        with self.hold_transaction():
            if not unsure:
                self._uncount_repeat(pending)
            self._db.execute(
                "UPDATE batch SET state = iif(tries >= ?, 'late', 'waiting'), unsure = unsure OR ?"
                " WHERE id = ? AND state = 'flying'",
                (LATE_AFTER_TRIES, int(unsure), pending.id),
            )
            self._db.execute(
                "UPDATE target SET fails = fails + 1, since = ?, until = ?, failed = ?, error = ? WHERE key = ?",
                (now, until, now, to_storable_text(error), pending.target),
            )

    def quarantine_batch(self, pending: PendingBatch, error: str) -> None:
        """Record that the target will never accept a batch, and quarantine it with the server's reason."""
        now = self._clock()
        with self.hold_transaction():
            self._uncount_repeat(pending)
            self._db.execute(
                "UPDATE batch SET state = 'quarantined', refused = ?, error = ? WHERE id = ?",
                (now, to_storable_text(error), pending.id),
            )
            self._db.execute(
                "UPDATE target SET fails = 0, since = NULL, until = NULL, failed = ?, error = ? WHERE key = ?",
                (now, to_storable_text(error), pending.target),
            )

    def replace_by_halves(self, pending: PendingBatch, first: SpanBatch, second: SpanBatch) -> None:
        """Replace a batch that is too large for the target with two smaller ones."""
        with self.hold_transaction():
            self._uncount_repeat(pending)
            sql = "DELETE FROM batch WHERE id = ? RETURNING target, made, place, part, unsure"
            row = self._db.execute(sql, (pending.id,)).fetchone()
            if row is None:
                return
            target, created, place, part, unsure = row
            for name, half in (("0", first), ("1", second)):
                self._insert_batch(target, half, created, place, f"{part}{name}", unsure)

    def _uncount_repeat(self, pending: PendingBatch) -> None:
        """Undo the count of a repeat, because the server itself reported that the batch had not arrived."""
        self._db.execute(
            "UPDATE target SET repeats = repeats - 1, repeated_spans = repeated_spans - batch.spans FROM batch"
            " WHERE batch.id = ? AND target.id = batch.target AND batch.state = 'flying' AND batch.unsure",
            (pending.id,),
        )

    def requeue(self, target: str) -> int:
        """Queue the quarantined batches of a target again, and return their number."""
        sql = (
            "UPDATE batch SET state = 'waiting', tries = 0, refused = NULL, error = NULL"
            " WHERE state = 'quarantined' AND target = (SELECT id FROM target WHERE key = ?)"
        )
        with self.hold_transaction():
            self._db.execute(sql, (target,))
            return self._db.changes()

    def end_pause(self, target: str) -> None:
        with self.hold_transaction():
            self._db.execute("UPDATE target SET fails = 0, since = NULL, until = NULL WHERE key = ?", (target,))

    def _insert_batch(
        self, number: int, batch: SpanBatch, created: float, place: int | None = None, part: str = "", unsure: int = 0
    ) -> None:
        self._db.execute(
            "INSERT INTO batch (target, state, unsure, place, part, made, spans, size, trace, ids)"
            " VALUES (?, 'waiting', ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                number,
                unsure,
                place,
                part,
                created,
                len(batch.spans),
                len(batch.body),
                batch.trace,
                b"".join(batch.spans),
            ),
        )
        last = self._db.last_insert_rowid()
        self._db.execute("INSERT INTO body VALUES (?, ?)", (last, batch.body))
        if place is None:
            self._db.execute("UPDATE batch SET place = ? WHERE id = ?", (last, last))


def to_storable_text(text: str) -> str:
    """Replace lone surrogates, which SQLite can't store."""
    return text.encode("utf-8", "backslashreplace").decode()
