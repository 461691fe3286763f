"""The outbox: stores spans on disk until the backend has received them.

    put                 stores batches, the claims of their spans and the progress of their session in one transaction
    begin               marks a batch before it is sent: if its sender dies afterwards, the batch may have arrived
    mark_sent           deletes the body and keeps the claims, so that no span is ever stored a second time
    postpone_batch      the server doesn't accept the batch now; the whole target is paused for a while
    quarantine_batch    the server will never accept the batch, which is quarantined with the server's reason
    replace_by_halves   the server accepts the batch only in smaller pieces

Every change is on disk when the call returns. A process that is killed at any point loses nothing; it can only
duplicate a batch that was begun but not recorded as sent, and such batches are counted (`repeats`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import apsw

from turnlog.errors import TurnlogError
from turnlog.trace.outbox.ledger import explain_ledger_errors, open_ledger
from turnlog.trace.outbox.outgoing_batches import OutgoingBatches, to_storable_text
from turnlog.trace.outbox.outgoing_batches import PendingBatch as PendingBatch
from turnlog.trace.outbox.target_status import (
    QuarantinedBatch,
    TargetStatus,
    list_quarantined_batches,
    list_target_statuses,
)
from turnlog.trace.wire.batch import SpanBatch

OUTBOX_FILE_NAME = "outbox.db"
MAX_WAITING_BYTES = 1 << 30
"""The maximum number of bytes that may wait for one target, including quarantined ones."""
_SPANS_PER_QUERY = 500
_MIN_SHRINK_BYTES = 4 << 20


class OutboxFull(TurnlogError):
    """Too much is waiting for a target, so nothing more is stored for it."""


class OutboxOvertaken(TurnlogError):
    """Another process has stored some of these spans in the meantime, so the rest must be determined again."""


class Outbox(OutgoingBatches):
    """An open outbox; each thread and process needs its own."""

    def __init__(
        self,
        db: apsw.Connection,
        path: Path,
        cap_bytes: int = MAX_WAITING_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(db, path, clock)
        self._cap = cap_bytes

    @classmethod
    def open(cls, path: Path, cap_bytes: int = MAX_WAITING_BYTES, clock: Callable[[], float] = time.time) -> Outbox:
        """Open the outbox in a file; create it if there is none."""
        return cls(open_ledger(path), path, cap_bytes, clock)

    def __enter__(self) -> Outbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    def read_progress(self, target: str, path: str) -> str | None:
        """Return the stored progress for a file."""
        sql = "SELECT text FROM progress WHERE target = (SELECT id FROM target WHERE key = ?) AND path = ?"
        with explain_ledger_errors(self.path):
            progress = self._db.execute(sql, (target, _encode_path(path))).get
        return progress if isinstance(progress, str) else None

    def find_claims(self, target: str, spans: Iterable[bytes]) -> dict[bytes, bytes]:
        """Find which of these spans have been stored before, each with its trace."""
        wanted = list(spans)
        claims: dict[bytes, bytes] = {}
        with explain_ledger_errors(self.path):
            number = self._db.execute("SELECT id FROM target WHERE key = ?", (target,)).get
            for at in range(0, len(wanted), _SPANS_PER_QUERY):
                some = wanted[at : at + _SPANS_PER_QUERY]
                marks = ",".join("?" * len(some))
                sql = f"SELECT span, trace FROM claim WHERE target = ? AND span IN ({marks})"
                claims.update(self._db.execute(sql, (number, *some)))
        return claims

    def put(
        self, target: str, batches: Sequence[SpanBatch], path: str | None = None, progress: str | None = None
    ) -> None:
        """Store batches, the claims of their spans, and the progress of their file, all or nothing.

        Raise OutboxFull if too much is waiting, or OutboxOvertaken if a span has been stored in the meantime.
        """
        if not batches and (path is None or progress is None):
            return
        _check_unique(batches)
        try:
            with self.hold_transaction():
                number = self._find_target_id(target)
                self._check_room(target, number, batches)
                self._insert_batches(number, batches)
                if path is not None and progress is not None:
                    row = (number, _encode_path(path), progress)
                    self._db.execute("INSERT OR REPLACE INTO progress VALUES (?, ?, ?)", row)
        except OutboxOvertaken:
            raise
        except TurnlogError as error:
            self._hold_back(target, str(error))
            raise

    def _insert_batches(self, number: int, batches: Sequence[SpanBatch]) -> None:
        claims = [(number, span, batch.trace) for batch in batches for span in batch.spans]
        try:
            self._db.executemany("INSERT INTO claim VALUES (?, ?, ?)", claims)
        except apsw.ConstraintError:
            raise OutboxOvertaken(
                f"{self.path}: another process has stored some of these spans in the meantime; try again"
            ) from None
        for batch in batches:
            self._insert_batch(number, batch, self._clock())
        if batches:
            self._db.execute("UPDATE target SET held = NULL, reason = NULL WHERE id = ?", (number,))

    def _check_room(self, target: str, number: int, batches: Sequence[SpanBatch]) -> None:
        waiting = self._db.execute("SELECT coalesce(sum(size), 0) FROM batch WHERE target = ?", (number,)).get
        assert isinstance(waiting, int)
        if batches and waiting + sum(len(batch.body) for batch in batches) > self._cap:
            raise OutboxFull(
                f"{self.path}: {waiting:,} bytes are waiting for {target}, and the limit is {self._cap:,};"
                " new spans are held back until some are sent (`turnlog trace status` shows the reason)"
            )

    def _hold_back(self, target: str, why: str) -> None:
        # On a full disk this fails for the same reason; the caller gets the first error in any case.
        with suppress(TurnlogError), self.hold_transaction():
            row = (self._clock(), to_storable_text(why), self._find_target_id(target))
            self._db.execute("UPDATE target SET held = coalesce(held, ?), reason = ? WHERE id = ?", row)

    def _find_target_id(self, target: str) -> int:
        self._db.execute("INSERT INTO target (key) VALUES (?) ON CONFLICT DO NOTHING", (target,))
        number = self._db.execute("SELECT id FROM target WHERE key = ?", (target,)).get
        assert isinstance(number, int)
        return number

    def name_target(self, target: str, shown: str) -> None:
        """Store the display name of a target."""
        with explain_ledger_errors(self.path):
            known = self._db.execute("SELECT shown FROM target WHERE key = ?", (target,)).get
        if known != to_storable_text(shown):
            with self.hold_transaction():
                self._db.execute(
                    "UPDATE target SET shown = ? WHERE id = ?", (to_storable_text(shown), self._find_target_id(target))
                )

    def list_statuses(self) -> list[TargetStatus]:
        """List the status of every target for which spans were ever stored."""
        with explain_ledger_errors(self.path):
            return list_target_statuses(self._db, self._clock())

    def read_status(self, target: str) -> TargetStatus:
        statuses = (item for item in self.list_statuses() if item.key == target)
        return next(statuses, TargetStatus(target, target))

    def list_quarantined(self, target: str) -> list[QuarantinedBatch]:
        """List the batches that a target has refused, oldest first."""
        with explain_ledger_errors(self.path):
            return list_quarantined_batches(self._db, target)

    def shrink(self) -> None:
        """Release the disk space of sent batches if this is worthwhile."""
        with explain_ledger_errors(self.path):
            if self._db.pragma("freelist_count") * self._db.pragma("page_size") > _MIN_SHRINK_BYTES:
                self._db.execute("PRAGMA incremental_vacuum").fetchall()


def _check_unique(batches: Sequence[SpanBatch]) -> None:
    spans = [span for batch in batches for span in batch.spans]
    if len(set(spans)) < len(spans):
        raise ValueError("the batches contain the same span twice")


def _encode_path(path: str) -> bytes:
    # A file name isn't necessarily valid text.
    return path.encode("utf-8", "surrogatepass")
