"""Workers that are killed at any step, beside any answers of the server: nothing is lost, every repeat is counted."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import settings

from tests.trace.batches import target
from tests.trace.kill_steps import PATH, Killer, Order
from tests.trace.recorder import Answer, Recorder
from turnlog.trace.outbox.outbox import Outbox
from turnlog.trace.outbox.target_status import TargetStatus

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")]

MOODS: list[Answer] = [200, 200, 503, 500, 429, ("retry-after", 7), 413, 400, 404, "cut", "lost", ("hang", 0.02)]
MOODS += [("partial", 1, "too old"), ("redirect", "http://127.0.0.1:9/")]


def is_long() -> bool:
    """Whether everything is to be tried, and not a sample."""
    return settings.default is not None and settings.default.max_examples > 1000


@pytest.fixture
def killer() -> Iterator[Killer]:
    with Killer() as found:
        yield found


def look(order: Order) -> tuple[str | None, set[bytes], TargetStatus | None]:
    """The progress, the claims and the standing in an outbox."""
    key = target(order.url).key
    with Outbox.open(Path(order.folder) / "outbox.db") as outbox:
        claimed = outbox.find_claims(key, [span for batch in order.batches for span in batch.spans])
        return outbox.read_progress(key, PATH), set(claimed), next(iter(outbox.list_statuses()), None)


def test_a_worker_killed_at_any_step_loses_nothing_and_every_repeat_is_counted(
    tmp_path: Path, recorder: Recorder, killer: Killer
) -> None:
    step, was_killed, repeated = 0, True, 0
    expected: set[str] = set()
    while was_killed:
        order = Order(str(tmp_path / str(step)), recorder.url, step, (1, 2, 3), [step])
        (was_killed,) = killer.run(order)
        spans = {span for batch in order.batches for span in batch.spans}
        progress, claims, _ = look(order)
        assert (progress, claims) in ((None, set()), ("the end", spans))  # both from one moment
        killer.run(order._replace(dies=[None], again=True))
        progress, claims, standing = look(order)
        assert standing is not None
        assert (progress, claims, standing.sent_spans, standing.pending_spans) == ("the end", spans, 6, 0)
        repeated += standing.repeated_spans
        expected |= {span.hex() for span in spans}
        step += 1 if is_long() else 31
    assert step > 500
    assert {span["span"] for span in recorder.spans} == expected
    assert recorder.changed_spans == []
    assert 0 < recorder.repeats <= repeated


@pytest.mark.parametrize("part", range(4))
def test_whatever_goes_wrong_every_span_arrives_and_every_repeat_is_counted(
    part: int, tmp_path: Path, recorder: Recorder, killer: Killer
) -> None:
    for seed in range(part, 600 if is_long() else 40, 4):
        _run(Random(seed), Order(str(tmp_path / str(seed)), recorder.url, seed, (), []), recorder, killer)


def _run(chance: Random, order: Order, recorder: Recorder, killer: Killer) -> None:
    """One schedule of faults, and then a server that takes everything."""
    order = order._replace(sizes=[chance.randint(1, 4) for _ in range(chance.randint(1, 5))])
    recorder.requests.clear()
    recorder.spans.clear()
    faults = chance.choices(MOODS, k=chance.randrange(15))
    recorder.answers[:] = faults
    killed = False
    for _ in range(chance.randint(1, 4)):
        steps = [chance.choice((None, chance.randrange(2500))) for _ in range(chance.choice((1, 1, 2)))]
        offset = chance.choice((0.0, 0.0, -86_400.0, 1e6))
        killed |= any(killer.run(order._replace(dies=steps, offset=offset)))
    recorder.answers.clear()
    killer.run(order._replace(dies=[None], again=True))
    _, _, standing = look(order)
    spans = sorted(span.hex() for batch in order.batches for span in batch.spans)
    assert standing is not None
    assert (standing.sent_spans, standing.pending_spans, standing.quarantined_spans) == (len(spans), 0, 0)
    assert sorted({span["span"] for span in recorder.spans}) == spans
    assert recorder.changed_spans == []
    assert recorder.repeats <= standing.repeated_spans
    if not killed and "lost" not in faults:
        assert recorder.repeats == 0
