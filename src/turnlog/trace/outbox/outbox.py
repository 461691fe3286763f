"""The outbox: what is to be sent, kept on disk until the backend has it.

    put      batches, the claims of their spans and the progress of their session, in one transaction
    begin    before a batch is sent: if its sender dies now, it may have arrived
    sent     the body goes, the claims stay: no span is ever put a second time
    later    the server does not take it now; the whole target is left alone for a while
    refused  the server will never take it: it stays in quarantine, with the server's words
    halved   the server takes it only in smaller pieces

Every change is on the disk when it returns. A process that is killed anywhere loses nothing; the one thing that it can
double is a batch that was begun and not recorded as sent, and that is counted (`repeats`).
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
"""So many bytes may wait for one target, quarantine included."""
_SPANS_PER_QUERY = 500
_MIN_SHRINK_BYTES = 4 << 20


class OutboxFull(TurnlogError):
    """A target did not take anything for so long that no more is kept for it."""


class OutboxOvertaken(TurnlogError):
    """Another process has put some of these spans meanwhile: what is left must be found anew."""


class Outbox(OutgoingBatches):
    """An open outbox; for one thread, beside others and other processes that have their own."""

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
        """Open the outbox in a file; make it if there is none."""
        return cls(open_ledger(path), path, cap_bytes, clock)

    def __enter__(self) -> Outbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def read_progress(self, target: str, path: str) -> str | None:
        """What was last put as the progress of a file."""
        sql = "SELECT text FROM progress WHERE target = (SELECT id FROM target WHERE key = ?) AND path = ?"
        with explain_ledger_errors(self.path):
            found = self._db.execute(sql, (target, _encode_path(path))).get
        return found if isinstance(found, str) else None

    def find_claims(self, target: str, spans: Iterable[bytes]) -> dict[bytes, bytes]:
        """Which of these spans were put before, each with its trace."""
        wanted = list(spans)
        found: dict[bytes, bytes] = {}
        with explain_ledger_errors(self.path):
            number = self._db.execute("SELECT id FROM target WHERE key = ?", (target,)).get
            for at in range(0, len(wanted), _SPANS_PER_QUERY):
                some = wanted[at : at + _SPANS_PER_QUERY]
                marks = ",".join("?" * len(some))
                sql = f"SELECT span, trace FROM claim WHERE target = ? AND span IN ({marks})"
                found.update(self._db.execute(sql, (number, *some)))
        return found

    def put(
        self, target: str, batches: Sequence[SpanBatch], path: str | None = None, progress: str | None = None
    ) -> None:
        """Put batches, claim their spans, and keep the progress of the file they come from; all of it or nothing.

        Raises OutboxFull when too much waits already, and Overtaken when a span was put meanwhile.
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
                f"{self.path}: another process has put some of these spans meanwhile; try again"
            ) from None
        for batch in batches:
            self._insert_batch(number, batch, self._clock())
        if batches:
            self._db.execute("UPDATE target SET held = NULL, reason = NULL WHERE id = ?", (number,))

    def _check_room(self, target: str, number: int, batches: Sequence[SpanBatch]) -> None:
        kept = self._db.execute("SELECT coalesce(sum(size), 0) FROM batch WHERE target = ?", (number,)).get
        assert isinstance(kept, int)
        if batches and kept + sum(len(batch.body) for batch in batches) > self._cap:
            raise OutboxFull(
                f"{self.path}: {kept:,} bytes wait for {target}, and no more than {self._cap:,} are kept; new spans are"
                " held back until some are sent (`turnlog trace status` says what is in the way)"
            )

    def _hold_back(self, target: str, why: str) -> None:
        # On a full disk this fails for the same reason; whoever put is told in any case.
        with suppress(TurnlogError), self.hold_transaction():
            row = (self._clock(), to_storable_text(why), self._find_target_id(target))
            self._db.execute("UPDATE target SET held = coalesce(held, ?), reason = ? WHERE id = ?", row)

    def _find_target_id(self, target: str) -> int:
        self._db.execute("INSERT INTO target (key) VALUES (?) ON CONFLICT DO NOTHING", (target,))
        found = self._db.execute("SELECT id FROM target WHERE key = ?", (target,)).get
        assert isinstance(found, int)
        return found

    def name_target(self, target: str, shown: str) -> None:
        """Say how a target is called for people."""
        with explain_ledger_errors(self.path):
            known = self._db.execute("SELECT shown FROM target WHERE key = ?", (target,)).get
        if known != to_storable_text(shown):
            with self.hold_transaction():
                self._db.execute(
                    "UPDATE target SET shown = ? WHERE id = ?", (to_storable_text(shown), self._find_target_id(target))
                )

    def list_statuses(self) -> list[TargetStatus]:
        """How it stands with every target that something was ever put for."""
        with explain_ledger_errors(self.path):
            return list_target_statuses(self._db, self._clock())

    def read_status(self, target: str) -> TargetStatus:
        """How it stands with one target."""
        found = (item for item in self.list_statuses() if item.key == target)
        return next(found, TargetStatus(target, target))

    def list_quarantined(self, target: str) -> list[QuarantinedBatch]:
        """What a target has refused, the oldest first."""
        with explain_ledger_errors(self.path):
            return list_quarantined_batches(self._db, target)

    def shrink(self) -> None:
        """Give the room of what was sent back to the disk, if it is worth it."""
        with explain_ledger_errors(self.path):
            if self._db.pragma("freelist_count") * self._db.pragma("page_size") > _MIN_SHRINK_BYTES:
                self._db.execute("PRAGMA incremental_vacuum").fetchall()


def _check_unique(batches: Sequence[SpanBatch]) -> None:
    spans = [span for batch in batches for span in batch.spans]
    if len(set(spans)) < len(spans):
        raise ValueError("a span stands twice in what is put")


def _encode_path(path: str) -> bytes:
    # A name of a file need not be text.
    return path.encode("utf-8", "surrogatepass")
