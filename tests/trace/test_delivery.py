"""Delivery brings everything to the backend that it will take, in order, whatever the backend answers meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.trace.batches import build_batch, target
from tests.trace.recorder import Recorder
from turnlog.store.file_lock import try_lock_file
from turnlog.trace.outbox.delivery import (
    MAX_PAUSE_SECONDS,
    DeliveryPace,
    DeliveryResult,
    build_lock_path,
    deliver_batches,
)
from turnlog.trace.outbox.outbox import Outbox
from turnlog.trace.outbox.outgoing_batches import LATE_AFTER_TRIES
from turnlog.trace.outbox.target_status import TargetStatus
from turnlog.trace.wire.batch import SpanBatch
from turnlog.trace.wire.poster import PostAccepted, PostDeferred, Poster, PostRefused, PostTooLarge, PostVerdict

NOW = 1_800_000_000.0
HERE = target("http://127.0.0.1:9")
ROOT = Path(__file__).parents[2]


class World:
    """A backend that answers as it is told, and a clock that only sleep moves."""

    target = HERE

    def __init__(self, *verdicts: PostVerdict | BaseException) -> None:
        self.verdicts = [*verdicts]
        self.got: list[bytes] = []
        self.slept: list[float] = []
        self.time = NOW
        self.steady = 0.0
        self.chance = 0.5
        self.meanwhile: Callable[[], object] = lambda: None

    def post(self, body: bytes) -> PostVerdict:
        self.got.append(body)
        verdict = self.verdicts.pop(0) if self.verdicts else PostAccepted()
        self.meanwhile()
        if isinstance(verdict, BaseException):
            raise verdict
        return verdict

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        self.steady += seconds

    @property
    def pace(self) -> DeliveryPace:
        return DeliveryPace(lambda: self.time, lambda: self.steady, self.sleep, lambda: self.chance)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "outbox.db"


@pytest.fixture
def outbox(path: Path, world: World) -> Iterator[Outbox]:
    with Outbox.open(path, clock=lambda: world.time) as found:
        yield found


def put(outbox: Outbox, numbers: Sequence[int], spans: int = 1) -> list[bytes]:
    batches = [build_batch(number, spans) for number in numbers]
    outbox.put(HERE.key, batches)
    return [batch.body for batch in batches]


def read_status(outbox: Outbox) -> TargetStatus:
    (found,) = outbox.list_statuses()
    return found


def run(outbox: Outbox, world: World, patience: float = 0.0) -> DeliveryResult:
    return deliver_batches(outbox, world, patience=patience, pace=world.pace)


def test_everything_is_sent_in_order_and_once(outbox: Outbox, world: World) -> None:
    bodies = put(outbox, range(5), spans=2)
    assert run(outbox, world) == DeliveryResult(batches=5, spans=10)
    assert run(outbox, world) == DeliveryResult()
    assert world.got == bodies
    assert read_status(outbox).repeats == 0


def test_the_target_is_named_in_the_status(outbox: Outbox, world: World) -> None:
    run(outbox, world)
    assert read_status(outbox).shown == HERE.display_name


def test_without_patience_a_server_that_fails_is_asked_once(outbox: Outbox, world: World) -> None:
    put(outbox, range(3))
    world.verdicts = [PostDeferred("503: busy")]
    world.chance = 0.0
    assert run(outbox, world) == DeliveryResult(failures=1, error="503: busy", left=True)
    assert len(world.got) == 1
    assert read_status(outbox).pending_batches == 3


def test_a_server_that_failed_is_left_alone_by_the_next_delivery_too(outbox: Outbox, world: World) -> None:
    put(outbox, [1])
    world.verdicts = [PostDeferred("503: busy")]
    run(outbox, world)
    assert run(outbox, world) == DeliveryResult(left=True)
    assert len(world.got) == 1
    world.time += 1
    assert run(outbox, world).batches == 1


def test_pauses_double_up_to_ten_minutes_and_are_random_below_that(outbox: Outbox, world: World) -> None:
    put(outbox, [1])
    limits = []
    for attempt in range(14):
        world.verdicts, world.chance = [PostDeferred("503")], 0.25 if attempt % 2 else 0.999
        run(outbox, world)
        wait = outbox.compute_wait(HERE.key, world.time)
        assert wait is not None
        limits.append(wait / world.chance)
        world.time += wait + 0.001
    assert limits == pytest.approx([min(2**number, MAX_PAUSE_SECONDS) for number in range(14)], rel=1e-6)


def test_with_patience_the_server_is_asked_until_it_takes_it(outbox: Outbox, world: World) -> None:
    bodies = put(outbox, [1, 2])
    world.verdicts = [PostDeferred("503"), PostDeferred("no answer", unsure=True)]
    assert run(outbox, world, patience=60) == DeliveryResult(batches=2, spans=2, failures=2, error="no answer")
    assert world.got == [bodies[0], bodies[0], bodies[0], bodies[1]]
    assert world.slept == pytest.approx([0.5, 1.0])
    assert read_status(outbox).repeats == 1


def test_patience_comes_to_an_end(outbox: Outbox, world: World) -> None:
    put(outbox, [1])
    world.verdicts = [PostDeferred("503")] * 1000
    found = run(outbox, world, patience=600)
    assert found.left
    assert sum(world.slept) <= 600
    assert 8 < found.failures < 30


def test_a_pause_that_is_longer_than_the_patience_is_not_waited_for(outbox: Outbox, world: World) -> None:
    put(outbox, [1])
    world.verdicts = [PostDeferred("429", after=3600)]
    assert run(outbox, world, patience=600).left
    assert world.slept == []


def test_the_servers_own_wish_decides_how_long_it_is_left_alone(outbox: Outbox, world: World) -> None:
    put(outbox, [1])
    world.verdicts = [PostDeferred("429", after=120)]
    run(outbox, world)
    assert outbox.compute_wait(HERE.key, world.time) == 120


def test_a_server_that_wishes_to_be_asked_at_once_again_and_again_is_not(outbox: Outbox, world: World) -> None:
    put(outbox, [1])
    world.verdicts = [PostDeferred("429", after=0)] * 10_000
    assert run(outbox, world, patience=600).failures < 30


def test_somebody_who_sleeps_goes_on_when_the_server_is_to_be_asked_again(outbox: Outbox, world: World) -> None:
    put(outbox, [1])
    world.verdicts = [PostDeferred("429", after=500)]
    sleep = world.sleep

    def interrupt_pause(seconds: float) -> None:
        sleep(seconds)
        if len(world.slept) == 3:
            with Outbox.open(outbox.path) as other:
                other.end_pause(HERE.key)

    world.sleep = interrupt_pause  # type: ignore[method-assign]
    assert run(outbox, world, patience=600).batches == 1
    assert sum(world.slept) < 60


def test_what_is_refused_goes_into_quarantine_and_the_next_one_is_sent(outbox: Outbox, world: World) -> None:
    put(outbox, [1, 2])
    world.verdicts = [PostRefused(400, "span 3 is broken")]
    assert run(outbox, world) == DeliveryResult(batches=1, spans=1, refused=1, refusal="400: span 3 is broken")
    assert [found.error for found in outbox.list_quarantined(HERE.key)] == ["400: span 3 is broken"]
    assert (read_status(outbox).quarantined_spans, read_status(outbox).last_error) == (1, "400: span 3 is broken")


def test_what_is_too_large_is_sent_in_parts_that_make_up_the_whole(outbox: Outbox, world: World) -> None:
    put(outbox, [1, 2], spans=5)
    whole = len(build_batch(1, 5).spans)
    world.verdicts = [PostTooLarge("413"), PostTooLarge("413")]
    found = run(outbox, world)
    assert (found.batches, found.spans, found.refused, found.left) == (4, 2 * whole, 0, False)
    assert outbox.find_claims(HERE.key, build_batch(1, 5).spans).keys() == set(build_batch(1, 5).spans)


def test_a_single_span_that_is_too_large_goes_into_quarantine(outbox: Outbox, world: World) -> None:
    put(outbox, [1])
    world.verdicts = [PostTooLarge("413: too large")]
    assert run(outbox, world) == DeliveryResult(refused=1, refusal="413: too large")


def test_what_is_taken_in_part_is_sent_and_its_words_are_kept(outbox: Outbox, world: World) -> None:
    put(outbox, [1])
    world.verdicts = [PostAccepted("1 span rejected: too old")]
    assert run(outbox, world).batches == 1
    assert (read_status(outbox).partials, read_status(outbox).warning) == (1, "1 span rejected: too old")


def test_what_the_server_always_stumbles_over_does_not_keep_the_rest_back(outbox: Outbox, world: World) -> None:
    bad, *good = put(outbox, [1, 2, 3])
    world.verdicts = [PostDeferred("500")] * LATE_AFTER_TRIES
    found = run(outbox, world, patience=600)
    assert (found.batches, found.left) == (3, False)
    assert world.got == [bad] * LATE_AFTER_TRIES + [*good, bad]


def test_only_one_process_sends_to_a_target_at_a_time(outbox: Outbox, world: World) -> None:
    put(outbox, [1])
    with try_lock_file(build_lock_path(outbox.path.parent, HERE.key)) as is_mine:
        assert is_mine
        assert run(outbox, world) == DeliveryResult(left=True, busy=True)
    assert world.got == []
    assert run(outbox, world).batches == 1


def test_what_others_put_meanwhile_is_sent_too(outbox: Outbox, world: World) -> None:
    put(outbox, [1])

    def another() -> None:
        world.meanwhile = lambda: None
        with Outbox.open(outbox.path) as other:
            other.put(HERE.key, [build_batch(2)])
            assert deliver_batches(other, world, pace=world.pace).busy

    world.meanwhile = another
    assert run(outbox, world) == DeliveryResult(batches=2, spans=2)


def test_what_others_put_just_before_the_lock_is_let_go_is_sent_too(outbox: Outbox, world: World) -> None:
    put(outbox, [1])
    late = [build_batch(2)]

    def now() -> float:
        with try_lock_file(build_lock_path(outbox.path.parent, HERE.key)) as is_free:
            if is_free and late:
                outbox.put(HERE.key, [late.pop()])
        return world.time

    assert deliver_batches(outbox, world, pace=world.pace._replace(now=now)) == DeliveryResult(batches=2, spans=2)


def test_an_interruption_while_sending_leaves_everything_to_go_on_with(outbox: Outbox, world: World) -> None:
    bodies = put(outbox, [1, 2])
    world.verdicts = [KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        run(outbox, world)
    assert run(outbox, world).batches == 2
    assert world.got == [bodies[0], *bodies]
    assert read_status(outbox).repeats == 1


def test_a_clock_that_is_set_back_and_forth_loses_and_doubles_nothing(outbox: Outbox, world: World) -> None:
    bodies = put(outbox, range(6))
    moves = iter([-86_400.0, 10.0**9, -(10.0**9), 3.0, -5.0, 7.0, 0.0, 0.0])
    world.verdicts = [PostDeferred("503"), PostAccepted(), PostDeferred("503"), PostAccepted()]

    def move() -> None:
        world.time += next(moves, 0.0)

    world.meanwhile = move
    assert run(outbox, world, patience=3600) == DeliveryResult(batches=6, spans=6, failures=2, error="503")
    assert [*dict.fromkeys(world.got)] == bodies


def test_progress_is_told_up_to_the_end(outbox: Outbox, world: World) -> None:
    put(outbox, range(3), spans=2)
    world.verdicts = [PostTooLarge("413")]
    told: list[tuple[int, int]] = []
    deliver_batches(outbox, world, pace=world.pace, progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3), (4, 4)]


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of POSIX")
def test_a_disk_that_is_full_keeps_anything_from_being_sent(path: Path, recorder: Recorder) -> None:
    here = target(recorder.url)
    with Outbox.open(path) as outbox:
        outbox.put(here.key, [build_batch(1)])
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from tests.trace.batches import target; from turnlog.errors import TurnlogError\n"
        "from turnlog.trace.outbox.delivery import deliver_batches; from turnlog.trace.outbox.outbox import Outbox\n"
        "from turnlog.trace.wire.poster import Poster\n"
        "here = target(sys.argv[2])\n"
        "with Outbox.open(Path(sys.argv[1])) as outbox, Poster(here) as poster:\n"
        "    outbox.name_target(here.key, here.display_name)\n"
        "    written = Path(sys.argv[1] + '-wal').stat().st_size\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (written, written))\n"
        "    try: deliver_batches(outbox, poster)\n"
        "    except TurnlogError as error: print(error)"
    )
    done = _python("-c", code, str(path), recorder.url)
    assert (done.returncode, done.stderr) == (0, "")
    assert "nothing was lost" in done.stdout
    assert recorder.requests == []
    with Outbox.open(path) as outbox, Poster(here) as poster:
        assert deliver_batches(outbox, poster) == DeliveryResult(batches=1, spans=1)
        assert outbox.list_statuses()[0].repeats == 0


def test_a_real_server_gets_every_span_once_through_all_its_moods(path: Path, recorder: Recorder, world: World) -> None:
    here = target(recorder.url)
    recorder.answers += [503, 200, "cut", ("retry-after", 2), 413, 200, 400, ("partial", 1, "too old")]
    batches: list[SpanBatch] = [build_batch(number, spans=3) for number in range(6)]
    with Outbox.open(path, clock=lambda: world.time) as outbox, Poster(here) as poster:
        outbox.put(here.key, batches)
        found = deliver_batches(outbox, poster, patience=3600, pace=world.pace)
        outbox.requeue(here.key)
        again = deliver_batches(outbox, poster, patience=3600, pace=world.pace)
        (standing,) = outbox.list_statuses()
    assert (found.refused, again.refused) == (1, 0)
    assert standing.sent_spans == 18
    assert sorted(span["span"] for span in recorder.spans) == sorted(
        span.hex() for batch in batches for span in batch.spans
    )
    assert (standing.repeats, recorder.repeats, standing.partials) == (2, 0, 1)  # both halves of what was cut


def test_an_answer_that_got_lost_makes_a_repeat_that_is_the_same_and_is_counted(
    path: Path, recorder: Recorder, world: World
) -> None:
    here = target(recorder.url)
    recorder.answers.append("lost")
    with Outbox.open(path, clock=lambda: world.time) as outbox, Poster(here) as poster:
        outbox.put(here.key, [build_batch(1, spans=3)])
        deliver_batches(outbox, poster, patience=60, pace=world.pace)
        (standing,) = outbox.list_statuses()
    assert (recorder.repeats, recorder.changed_spans) == (3, [])
    assert (standing.repeated_spans, standing.sent_spans) == (3, 3)
    assert recorder.requests[0].body == recorder.requests[1].body


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals of POSIX")
def test_an_interrupted_process_can_be_gone_on_with(path: Path, recorder: Recorder) -> None:
    here = target(recorder.url)
    with Outbox.open(path) as outbox:
        outbox.put(here.key, [build_batch(number) for number in range(3)])
    recorder.answers += [200, ("hang", 60)]
    code = (
        "import sys; from pathlib import Path; from tests.trace.batches import target\n"
        "from turnlog.trace.outbox.delivery import deliver_batches; from turnlog.trace.outbox.outbox import Outbox\n"
        "from turnlog.trace.wire.poster import Poster\n"
        "with Outbox.open(Path(sys.argv[1])) as outbox, Poster(target(sys.argv[2])) as poster: "
        "deliver_batches(outbox, poster)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(path), recorder.url], env=_environment(), stderr=-3)
    try:
        recorder.wait(requests=2)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) != 0
    finally:
        with suppress(ProcessLookupError):
            process.kill()
    with Outbox.open(path) as outbox, Poster(here) as poster:
        assert deliver_batches(outbox, poster).batches == 2
        (standing,) = outbox.list_statuses()
    assert (standing.sent_spans, standing.repeats, recorder.repeats) == (3, 1, 0)


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])}


def _python(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], env=_environment(), capture_output=True, encoding="utf-8")
