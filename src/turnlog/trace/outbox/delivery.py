"""Delivery: from the outbox to the backend, one batch after the other, by one process at a time.

A server that does not take something now is left alone for a while that doubles with each failure, up to ten minutes,
and is random below that: many machines must not come back at the same moment. What it refuses goes into quarantine,
and the next one is sent. Whatever ends the process in between, everything is there to go on with.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, Protocol

from turnlog.store.lock import locked
from turnlog.trace.outbox.outbox import Outbox, Pending
from turnlog.trace.targets.target import Target
from turnlog.trace.wire.otlp import halves
from turnlog.trace.wire.post import Accepted, Later, Refused, TooLarge, Verdict

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 600.0
"""Seconds: the most that is waited after the first failure, and after any."""
_NAP = 5.0
"""Seconds after which a sleeper looks whether somebody else wants the target to be asked at once."""

Progress = Callable[[int, int], object]
"""Is told how many of how many batches are done."""


class Sender(Protocol):
    """What brings a request to a target, and says what became of it (`trace.post.Poster`)."""

    @property
    def target(self) -> Target:
        """Where it goes."""

    def post(self, body: bytes) -> Verdict:
        """Send one request."""


class Pace(NamedTuple):
    """The clocks and the chance that a delivery goes by."""

    now: Callable[[], float] = time.time
    """Seconds since 1970; may be set to another time at any moment."""
    steady: Callable[[], float] = time.monotonic
    """Seconds that only ever grow."""
    sleep: Callable[[float], object] = time.sleep
    chance: Callable[[], float] = random.random


class Delivered(NamedTuple):
    """What a delivery did."""

    batches: int = 0
    spans: int = 0
    refused: int = 0
    """Batches that went into quarantine."""
    refusal: str | None = None
    """What the server said of the last of these."""
    rejected: int = 0
    """Spans that the server said it did not take, in answers that accepted the request."""
    rejection: str | None = None
    """What it said of the last of these."""
    failures: int = 0
    """Attempts that are to be made again."""
    error: str | None = None
    """Why the last of these failed."""
    left: bool = False
    """Whether something is still pending."""
    busy: bool = False
    """Whether another process is at it; it takes up what was put before."""


def deliver(
    outbox: Outbox, sender: Sender, *, patience: float = 0.0, pace: Pace | None = None, progress: Progress | None = None
) -> Delivered:
    """Send what is due to a target; keep trying for `patience` seconds if the server does not take it."""
    target = sender.target
    outbox.introduce(target.key, target.shown)
    course = _Course(outbox, sender, patience, pace or Pace(), progress)
    while True:
        with locked(lock_of(outbox.path.parent, target.key)) as is_mine:
            if not is_mine:
                return course.ended(busy=True)
            course.run()
        # Somebody may have put something while the lock was held, found it taken and left.
        if course.gave_up or not course.is_due:
            return course.ended(busy=False)


def lock_of(folder: Path, target: str) -> Path:
    """The file whose lock the one process holds that sends to a target."""
    return folder / f"{sha256(target.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}.lock"


class _Course:
    """One delivery: what it has done, and whether it goes on."""

    def __init__(self, outbox: Outbox, sender: Sender, patience: float, pace: Pace, progress: Progress | None) -> None:
        self._outbox = outbox
        self._sender = sender
        self._key = sender.target.key
        self._pace = pace
        self._deadline = pace.steady() + patience
        self._progress = progress
        self._total = outbox.standing(self._key).pending_batches if progress is not None else 0
        self._done = Delivered()
        self.gave_up = False

    @property
    def is_due(self) -> bool:
        """Whether there is something to send now."""
        return self._outbox.wait(self._key, self._pace.now()) == 0

    def ended(self, *, busy: bool) -> Delivered:
        """What came of it."""
        left = self._outbox.wait(self._key, self._pace.now()) is not None
        if not (left or busy):
            self._outbox.shrink()
        return self._done._replace(busy=busy, left=left)

    def run(self) -> None:
        """Send until nothing is left, or there is no more patience."""
        pending = self._begun()
        while pending is not None or self._rested():
            if pending is None:
                pending = self._begun()
            else:
                pending = self._settled(pending, self._sender.post(pending.batch.body))
            self._tell()

    def _begun(self) -> Pending | None:
        with self._outbox.together():
            pending = self._outbox.due(self._key, self._pace.now())
            return pending if pending is not None and self._outbox.begin(pending) else None

    def _settled(self, pending: Pending, verdict: Verdict) -> Pending | None:
        """Record what became of a batch, and begin the next one: one wait for the disk."""
        with self._outbox.together():
            self._record(pending, verdict)
            return None if self.gave_up else self._begun()

    def _record(self, pending: Pending, verdict: Verdict) -> None:
        done = self._done
        match verdict:
            case Accepted(words, rejected):
                self._outbox.sent(pending, words)
                rejected = min(rejected, len(pending.batch.spans))
                self._done = done._replace(
                    batches=done.batches + 1,
                    spans=done.spans + len(pending.batch.spans),
                    rejected=done.rejected + rejected,
                    rejection=words or done.rejection,
                )
            case Later(reason, after, unsure):
                self._outbox.later(pending, reason, self._pace.now() + self._pause(pending, after), unsure=unsure)
                self._done = done._replace(failures=done.failures + 1, error=reason)
                self.gave_up = self._pace.steady() >= self._deadline
            case TooLarge(reason):
                if (parts := halves(pending.batch)) is not None:
                    self._outbox.halved(pending, *parts)
                else:
                    self._refuse(pending, reason)
            case Refused(status, words):
                self._refuse(pending, f"{status}: {words}")

    def _refuse(self, pending: Pending, error: str) -> None:
        self._outbox.refused(pending, error)
        self._done = self._done._replace(refused=self._done.refused + 1, refusal=error)

    def _pause(self, pending: Pending, wish: float | None) -> float:
        """How long the server is left alone: as it wishes, else a part of what doubles with each failure."""
        if wish is not None and wish >= FIRST_PAUSE:
            return wish
        return self._pace.chance() * min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(pending.fails, 20))

    def _rested(self) -> bool:
        """Sleep until something may be due; False if there is nothing, or too little patience for it."""
        wait = None if self.gave_up else self._outbox.wait(self._key, self._pace.now())
        if wait is None:
            return False
        if wait > 0:
            if self._pace.steady() + wait > self._deadline:
                self.gave_up = True
                return False
            self._pace.sleep(min(wait, _NAP))
        return True

    def _tell(self) -> None:
        if self._progress is not None:
            finished = self._done.batches + self._done.refused
            self._progress(finished, max(self._total, finished))
