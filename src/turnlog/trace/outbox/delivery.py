"""Delivers the outbox to the backend, one batch at a time, by one process at a time.

If a server can't accept a batch now, delivery pauses for a random time; its upper limit doubles with each failure, up
to ten minutes, so that many machines don't retry at the same moment. A batch that the server refuses is quarantined,
and the next batch is sent. If the process ends at any point, the next one can continue.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, Protocol

from turnlog.store.file_lock import try_lock_file
from turnlog.trace.outbox.outbox import Outbox, PendingBatch
from turnlog.trace.targets.target import TraceTarget
from turnlog.trace.wire.otlp import halve_batch
from turnlog.trace.wire.poster import PostAccepted, PostDeferred, PostRefused, PostTooLarge, PostVerdict

FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 1.0, 600.0
"""The maximum pause in seconds after the first failure, and after any failure."""
_NAP_SECONDS = 5.0
"""The interval at which a sleeping process checks whether another process requests an immediate attempt."""

BatchProgress = Callable[[int, int], object]
"""Called with the number of finished batches and the total."""


class BatchSender(Protocol):
    """Sends a request to a target and returns the result (`trace.wire.poster.Poster`)."""

    @property
    def target(self) -> TraceTarget: ...

    def post(self, body: bytes) -> PostVerdict: ...


class DeliveryPace(NamedTuple):
    """The clocks and random numbers used by a delivery."""

    now: Callable[[], float] = time.time
    """Seconds since 1970; the clock may be changed at any moment."""
    steady: Callable[[], float] = time.monotonic
    """Seconds on a monotonic clock."""
    sleep: Callable[[float], object] = time.sleep
    chance: Callable[[], float] = random.random


class DeliveryResult(NamedTuple):
    batches: int = 0
    spans: int = 0
    refused: int = 0
    """The number of batches that were quarantined."""
    refusal: str | None = None
    """The server's reason for the last refusal."""
    rejected: int = 0
    """Spans that the server rejected in responses that accepted the request."""
    rejection: str | None = None
    """The server's reason for the last rejection."""
    failures: int = 0
    """Failed attempts that will be repeated."""
    error: str | None = None
    """Why the last attempt failed."""
    left: bool = False
    """Whether something is still pending."""
    busy: bool = False
    """Whether another process is delivering; it also sends what has been stored so far."""


def deliver_batches(
    outbox: Outbox,
    sender: BatchSender,
    *,
    patience: float = 0.0,
    pace: DeliveryPace | None = None,
    progress: BatchProgress | None = None,
) -> DeliveryResult:
    """Send what is due to a target; if the server doesn't accept it, keep trying for `patience` seconds."""
    target = sender.target
    outbox.name_target(target.key, target.display_name)
    delivery = _DeliveryRun(outbox, sender, patience, pace or DeliveryPace(), progress)
    while True:
        with try_lock_file(build_lock_path(outbox.path.parent, target.key)) as is_mine:
            if not is_mine:
                return delivery.finish_run(busy=True)
            delivery.run()
        # Another process may have stored something while we held the lock, and given up because of it.
        if delivery.gave_up or not delivery.is_due:
            return delivery.finish_run(busy=False)


def build_lock_path(folder: Path, target: str) -> Path:
    """Return the lock file for the process that sends to a target."""
    return folder / f"{sha256(target.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}.lock"


class _DeliveryRun:
    """The state of one delivery: its results so far, and whether it continues."""

    def __init__(
        self, outbox: Outbox, sender: BatchSender, patience: float, pace: DeliveryPace, progress: BatchProgress | None
    ) -> None:
        self._outbox = outbox
        self._sender = sender
        self._key = sender.target.key
        self._pace = pace
        self._deadline = pace.steady() + patience
        self._progress = progress
        self._total = outbox.read_status(self._key).pending_batches if progress is not None else 0
        self._result = DeliveryResult()
        self.gave_up = False

    @property
    def is_due(self) -> bool:
        """Whether there is something to send now."""
        return self._outbox.compute_wait(self._key, self._pace.now()) == 0

    def finish_run(self, *, busy: bool) -> DeliveryResult:
        """Return the result, and release disk space if everything was sent."""
        left = self._outbox.compute_wait(self._key, self._pace.now()) is not None
        if not (left or busy):
            self._outbox.shrink()
        return self._result._replace(busy=busy, left=left)

    def run(self) -> None:
        """Send until nothing is left or the time allowed by `patience` has passed."""
        pending = self._begin_next()
        while pending is not None or self._rest_until_due():
            if pending is None:
                pending = self._begin_next()
            else:
                pending = self._settle_batch(pending, self._sender.post(pending.batch.body))
            self._report_progress()

    def _begin_next(self) -> PendingBatch | None:
        with self._outbox.hold_transaction():
            pending = self._outbox.find_due_batch(self._key, self._pace.now())
            return pending if pending is not None and self._outbox.begin(pending) else None

    def _settle_batch(self, pending: PendingBatch, verdict: PostVerdict) -> PendingBatch | None:
        """Record the result of a batch and start the next one, with a single sync to disk."""
        with self._outbox.hold_transaction():
            self._record_verdict(pending, verdict)
            return None if self.gave_up else self._begin_next()

    def _record_verdict(self, pending: PendingBatch, verdict: PostVerdict) -> None:
        result = self._result
        match verdict:
            case PostAccepted(reason, rejected):
                self._outbox.mark_sent(pending, reason)
                rejected = min(rejected, len(pending.batch.spans))
                self._result = result._replace(
                    batches=result.batches + 1,
                    spans=result.spans + len(pending.batch.spans),
                    rejected=result.rejected + rejected,
                    rejection=reason or result.rejection,
                )
            case PostDeferred(reason, after, unsure):
                self._outbox.postpone_batch(
                    pending, reason, self._pace.now() + self._compute_pause(pending, after), unsure=unsure
                )
                self._result = result._replace(failures=result.failures + 1, error=reason)
                self.gave_up = self._pace.steady() >= self._deadline
            case PostTooLarge(reason):
                if (parts := halve_batch(pending.batch)) is not None:
                    self._outbox.replace_by_halves(pending, *parts)
                else:
                    self._quarantine_batch(pending, reason)
            case PostRefused(status, reason):
                self._quarantine_batch(pending, f"{status}: {reason}")

    def _quarantine_batch(self, pending: PendingBatch, error: str) -> None:
        self._outbox.quarantine_batch(pending, error)
        self._result = self._result._replace(refused=self._result.refused + 1, refusal=error)

    def _compute_pause(self, pending: PendingBatch, requested: float | None) -> float:
        """Return how long to pause: as the server requested, or a random part of the growing pause."""
        if requested is not None and requested >= FIRST_PAUSE_SECONDS:
            return requested
        return self._pace.chance() * min(MAX_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(pending.fails, 20))

    def _rest_until_due(self) -> bool:
        """Sleep until something may be due; return False if nothing will be due within the allowed time."""
        wait = None if self.gave_up else self._outbox.compute_wait(self._key, self._pace.now())
        if wait is None:
            return False
        if wait > 0:
            if self._pace.steady() + wait > self._deadline:
                self.gave_up = True
                return False
            self._pace.sleep(min(wait, _NAP_SECONDS))
        return True

    def _report_progress(self) -> None:
        if self._progress is not None:
            finished = self._result.batches + self._result.refused
            self._progress(finished, max(self._total, finished))
