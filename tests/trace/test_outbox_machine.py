"""Whatever is done to an outbox in any order, by one holder or two, killed or not: it does what a simple model does."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.trace.batches import KEY, build_batch
from turnlog.trace.outbox.outbox import Outbox, OutboxFull, OutboxOvertaken, PendingBatch
from turnlog.trace.outbox.outgoing_batches import LATE_AFTER_TRIES
from turnlog.trace.wire.batch import SpanBatch
from turnlog.trace.wire.otlp import halve_batch

pytestmark = pytest.mark.slow

NOW = 1_800_000_000.0
CAP = 4_000
HOLDERS = st.integers(0, 1)


@dataclass
class Kept:
    """A batch as the model knows it."""

    order: tuple[int, str]
    batch: SpanBatch
    state: str = "waiting"
    tries: int = 0
    unsure: bool = False


class OutboxMachine(RuleBasedStateMachine):
    """An outbox that two processes have open, beside a model of it."""

    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.now = NOW
        self.open = [self._open_outbox(), self._open_outbox()]
        self.held: list[PendingBatch | None] = [None, None]
        self.kept: dict[bytes, Kept] = {}
        self.claims: set[bytes] = set()
        self.sent: list[bytes] = []
        self.repeats = self.put_count = 0
        self.progress: str | None = None
        self.pause: tuple[float, float] | None = None

    def _open_outbox(self) -> Outbox:
        return Outbox.open(self.folder / "outbox.db", CAP, clock=lambda: self.now)

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            for outbox in self.open:
                outbox.close()
            shutil.rmtree(self.folder)

    @rule(who=HOLDERS, numbers=st.sets(st.integers(0, 12), max_size=3), spans=st.integers(1, 4))
    def put(self, who: int, numbers: set[int], spans: int) -> None:
        """Put batches; all of them with the progress, or nothing."""
        batches = [build_batch(number, spans) for number in sorted(numbers)]
        new = {span for batch in batches for span in batch.spans}
        text = f"{self.put_count}"
        size = sum(len(kept.batch.body) for kept in self.kept.values())
        is_full = bool(batches) and size + sum(len(batch.body) for batch in batches) > CAP
        try:
            self.open[who].put(KEY, batches, "/a", text)
        except OutboxFull:
            assert is_full
            return
        except OutboxOvertaken:
            assert not is_full
            assert new & self.claims
            return
        assert not is_full
        assert not new & self.claims
        self.progress = text
        self.claims |= new
        for batch in batches:
            self.put_count += 1
            self.kept[batch.spans[0]] = Kept((self.put_count, ""), batch)
        self.put_count += 1

    @rule(who=HOLDERS)
    def begin(self, who: int) -> None:
        """Take what is due, and mark it."""
        found = self.open[who].find_due_batch(KEY, self.now)
        expected = self._due()
        assert (found.batch if found else None) == (expected.batch if expected else None)
        if found is None or expected is None:
            return
        assert self.open[who].begin(found)
        expected.unsure |= expected.state == "flying"
        expected.state, expected.tries = "flying", expected.tries + 1
        self.repeats += expected.unsure
        self.held[who] = found

    def _due(self) -> Kept | None:
        if self.pause is not None and self.pause[0] <= self.now < self.pause[1]:
            return None
        waiting = [kept for kept in self.kept.values() if kept.state != "quarantined"]
        # Of those that failed too often, none comes before another one; each state is looked through from its oldest.
        first = [
            min((kept for kept in waiting if _place(kept) == place), key=lambda kept: kept.order, default=None)
            for place in ("flying", "waiting", "late")
        ]
        return min(filter(None, first), key=lambda kept: (kept.tries >= LATE_AFTER_TRIES, kept.order), default=None)

    def _take_batch(self, who: int) -> tuple[PendingBatch, Kept | None]:
        pending = self.held[who]
        assert pending is not None
        self.held[who] = None
        kept = self.kept.get(pending.batch.spans[0])
        return pending, kept if kept is not None and kept.batch == pending.batch else None

    def holds(self, who: int) -> bool:
        """Whether a holder has begun something."""
        return self.held[who] is not None

    @precondition(lambda self: any(self.held))
    @rule(who=HOLDERS)
    def record_sent(self, who: int) -> None:
        """The server has accepted it."""
        if self.holds(who):
            pending, kept = self._take_batch(who)
            self.open[who].mark_sent(pending)
            if kept is not None:
                self.sent += pending.batch.spans
                del self.kept[pending.batch.spans[0]]
                self.pause = None

    @precondition(lambda self: any(self.held))
    @rule(who=HOLDERS, seconds=st.integers(0, 100), unsure=st.booleans())
    def record_later(self, who: int, seconds: int, unsure: bool) -> None:
        """The server does not take it now."""
        if self.holds(who):
            pending, kept = self._take_batch(who)
            self.open[who].postpone_batch(pending, "busy", self.now + seconds, unsure=unsure)
            self.pause = (self.now, self.now + seconds)
            if kept is not None and kept.state == "flying":
                self.repeats -= kept.unsure and not unsure
                kept.state = "waiting"
                kept.unsure |= unsure

    @precondition(lambda self: any(self.held))
    @rule(who=HOLDERS)
    def record_refused(self, who: int) -> None:
        """The server will never take it."""
        if self.holds(who):
            pending, kept = self._take_batch(who)
            self.open[who].quarantine_batch(pending, "no")
            self.pause = None
            if kept is not None:
                self.repeats -= kept.unsure and kept.state == "flying"
                kept.state = "quarantined"

    @precondition(lambda self: any(self.held))
    @rule(who=HOLDERS)
    def record_halved(self, who: int) -> None:
        """The server wants it in smaller pieces."""
        pending = self.held[who]
        parts = halve_batch(pending.batch) if pending is not None else None
        if parts is None:
            return
        pending, kept = self._take_batch(who)
        self.open[who].replace_by_halves(pending, *parts)
        if kept is not None:
            self.repeats -= kept.unsure and kept.state == "flying"
            del self.kept[pending.batch.spans[0]]
            for name, half in zip("01", parts, strict=True):
                order = (kept.order[0], kept.order[1] + name)
                self.kept[half.spans[0]] = Kept(order, half, unsure=kept.unsure)

    @rule(who=HOLDERS)
    def requeue(self, who: int) -> None:
        """Try again what was refused."""
        refused = [kept for kept in self.kept.values() if kept.state == "quarantined"]
        assert self.open[who].requeue(KEY) == len(refused)
        for kept in refused:
            kept.state, kept.tries = "waiting", 0

    @rule(who=HOLDERS)
    def ask_again(self, who: int) -> None:
        """Leave the target alone no longer."""
        self.open[who].end_pause(KEY)
        self.pause = None

    @rule(who=HOLDERS)
    def kill(self, who: int) -> None:
        """Forget what a holder has in its hands, and open the outbox anew."""
        self.open[who].close()
        self.open[who] = self._open_outbox()
        self.held[who] = None

    @rule(seconds=st.sampled_from([1, 50, 100, -3600, 10**6]))
    def move_clock(self, seconds: int) -> None:
        """Let time pass, or set the clock to something else."""
        self.now += seconds

    @invariant()
    def nothing_is_lost_and_nothing_is_double(self) -> None:
        """Each span that was put is sent or kept, once."""
        if not hasattr(self, "folder"):
            return
        kept = [span for item in self.kept.values() for span in item.batch.spans]
        assert sorted([*kept, *self.sent]) == sorted(self.claims)
        everything = [span for number in range(13) for span in build_batch(number, 4).spans]
        assert self.open[0].find_claims(KEY, everything).keys() == self.claims
        assert self.open[0].read_progress(KEY, "/a") == self.progress
        self._compare()

    def _compare(self) -> None:
        found = self.open[1].list_statuses()
        if not found:
            assert not self.claims
            return
        (standing,) = found
        quarantined = [kept.batch for kept in self.kept.values() if kept.state == "quarantined"]
        pending = [kept.batch for kept in self.kept.values() if kept.state != "quarantined"]
        assert standing.sent_spans == len(self.sent)
        assert standing.pending_batches == len(pending)
        assert standing.pending_bytes == sum(len(batch.body) for batch in pending)
        assert standing.quarantined_spans == sum(len(batch.spans) for batch in quarantined)
        assert standing.repeats == self.repeats


def _place(kept: Kept) -> str:
    return "late" if kept.state == "waiting" and kept.tries >= LATE_AFTER_TRIES else kept.state


TestOutboxMachine = OutboxMachine.TestCase
TestOutboxMachine.settings = settings(
    max_examples=min(settings.default.max_examples if settings.default else 100, 2_000) // 2, stateful_step_count=40
)
