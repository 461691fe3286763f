"""The outbox keeps what is to be sent until it is sent, and every span for one time only."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import apsw
import pytest

from tests.trace.batches import KEY, build_batch, trace_id
from turnlog.errors import TurnlogError
from turnlog.trace.outbox.outbox import Outbox, OutboxFull, OutboxOvertaken, PendingBatch
from turnlog.trace.outbox.outgoing_batches import LATE_AFTER_TRIES
from turnlog.trace.outbox.target_status import TargetStatus
from turnlog.trace.wire.batch import SpanBatch

NOW = 1_800_000_000.0


class Clock:
    def __init__(self) -> None:
        self.time = NOW

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trace" / "outbox.db"


@pytest.fixture
def outbox(path: Path, clock: Clock) -> Iterator[Outbox]:
    with Outbox.open(path, clock=clock) as found:
        yield found


def due(outbox: Outbox, now: float = NOW) -> PendingBatch:
    found = outbox.find_due_batch(KEY, now)
    assert found is not None
    return found


def begin_batch(outbox: Outbox, now: float = NOW) -> PendingBatch:
    found = due(outbox, now)
    assert outbox.begin(found)
    return found


def read_status(outbox: Outbox) -> TargetStatus:
    (found,) = outbox.list_statuses()
    return found


def test_what_was_put_comes_out_in_the_same_order(outbox: Outbox) -> None:
    batches = [build_batch(number, spans=3) for number in (5, 1, 3)]
    outbox.put(KEY, batches)
    out = []
    while pending := outbox.find_due_batch(KEY, NOW):
        outbox.begin(pending)
        outbox.mark_sent(pending)
        out.append(pending.batch)
    assert out == batches


def test_a_batch_is_the_same_after_the_outbox_was_closed(outbox: Outbox, path: Path) -> None:
    outbox.put(KEY, [build_batch(1, spans=20)])
    outbox.close()
    with Outbox.open(path) as again:
        assert due(again).batch == build_batch(1, spans=20)


def test_spans_stay_claimed_when_they_are_sent_refused_and_halved(outbox: Outbox) -> None:
    outbox.put(KEY, [build_batch(1), build_batch(2), build_batch(3, spans=2)])
    outbox.mark_sent(begin_batch(outbox))
    outbox.quarantine_batch(begin_batch(outbox), "no")
    whole = begin_batch(outbox)
    outbox.replace_by_halves(whole, *_parts(whole.batch))
    spans = [span for number, count in ((1, 1), (2, 1), (3, 2)) for span in build_batch(number, count).spans]
    assert outbox.find_claims(KEY, spans) == dict(
        zip(spans, [trace_id(1), trace_id(2), trace_id(3), trace_id(3)], strict=True)
    )


def test_only_what_was_put_for_a_target_is_claimed_there(outbox: Outbox) -> None:
    outbox.put(KEY, [build_batch(1)])
    assert outbox.find_claims("elsewhere", build_batch(1).spans) == {}
    assert outbox.find_claims(KEY, build_batch(2).spans) == {}
    outbox.put("elsewhere", [build_batch(1)])
    assert outbox.find_claims("elsewhere", build_batch(1).spans) == {build_batch(1).spans[0]: trace_id(1)}


def test_any_number_of_spans_can_be_asked_for(outbox: Outbox) -> None:
    spans = [number.to_bytes(8, "big") for number in range(40_000)]
    outbox.put(KEY, [SpanBatch(trace_id(1), tuple(spans[:39_000]), b"body")])
    assert list(outbox.find_claims(KEY, spans)) == spans[:39_000]


def test_a_span_that_was_put_before_is_not_put_again_and_nothing_else_with_it(outbox: Outbox) -> None:
    outbox.put(KEY, [build_batch(1)], "/a", "one")
    with pytest.raises(OutboxOvertaken, match="try again"):
        outbox.put(KEY, [build_batch(2), build_batch(1)], "/a", "two")
    assert outbox.read_progress(KEY, "/a") == "one"
    assert outbox.find_claims(KEY, build_batch(2).spans) == {}
    assert read_status(outbox).pending_batches == 1
    assert read_status(outbox).held_back is None


def test_a_span_that_stands_twice_in_what_is_put_is_a_mistake_of_the_caller(outbox: Outbox) -> None:
    with pytest.raises(ValueError, match="twice"):
        outbox.put(KEY, [build_batch(1), build_batch(1)])


def test_progress_is_kept_by_target_and_file(outbox: Outbox) -> None:
    odd = "/home/d\udce4na/\ud800.jsonl"
    outbox.put(KEY, [], "/a", "one")
    outbox.put(KEY, [build_batch(1)], "/a", "two")
    outbox.put(KEY, [], odd, "odd")
    outbox.put(KEY, [build_batch(2)], "/a")
    outbox.put(KEY, [])
    assert outbox.read_progress(KEY, "/a") == "two"
    assert outbox.read_progress(KEY, odd) == "odd"
    assert outbox.read_progress(KEY, "/b") is None
    assert outbox.read_progress("elsewhere", "/a") is None


def test_a_batch_whose_sender_died_is_sent_again_and_counted_as_a_repeat(outbox: Outbox, path: Path) -> None:
    outbox.put(KEY, [build_batch(1, spans=3)])
    begin_batch(outbox)
    with Outbox.open(path) as other:
        outbox.mark_sent(begin_batch(other))
        assert (read_status(other).repeats, read_status(other).repeated_spans, read_status(other).sent_spans) == (
            1,
            3,
            3,
        )


def test_a_batch_that_surely_did_not_arrive_is_no_repeat_when_it_is_sent_again(outbox: Outbox) -> None:
    outbox.put(KEY, [build_batch(1)])
    outbox.postpone_batch(begin_batch(outbox), "503", NOW)
    outbox.mark_sent(begin_batch(outbox))
    assert read_status(outbox).repeats == 0


def test_a_batch_that_may_have_arrived_is_a_repeat_when_it_is_sent_again(outbox: Outbox) -> None:
    outbox.put(KEY, [build_batch(1)])
    outbox.postpone_batch(begin_batch(outbox), "no answer in time", NOW, unsure=True)
    outbox.mark_sent(begin_batch(outbox))
    assert read_status(outbox).repeats == 1


def test_a_repeat_that_the_server_did_not_take_is_none(outbox: Outbox) -> None:
    outbox.put(KEY, [build_batch(1)])
    outbox.postpone_batch(begin_batch(outbox), "no answer in time", NOW, unsure=True)
    outbox.postpone_batch(begin_batch(outbox), "503", NOW)
    outbox.quarantine_batch(begin_batch(outbox), "400")
    assert (read_status(outbox).repeats, read_status(outbox).repeated_spans) == (0, 0)
    outbox.requeue(KEY)
    outbox.mark_sent(begin_batch(outbox))
    assert (read_status(outbox).repeats, read_status(outbox).repeated_spans) == (1, 1)


def test_halves_of_a_batch_that_may_have_arrived_are_repeats_too(outbox: Outbox) -> None:
    outbox.put(KEY, [build_batch(1, spans=2)])
    outbox.postpone_batch(begin_batch(outbox), "no answer in time", NOW, unsure=True)
    whole = begin_batch(outbox)
    outbox.replace_by_halves(whole, *_parts(whole.batch))
    for _ in range(2):
        outbox.mark_sent(begin_batch(outbox))
    assert (read_status(outbox).repeats, read_status(outbox).repeated_spans) == (2, 2)


def test_recording_twice_counts_once(outbox: Outbox) -> None:
    outbox.put(KEY, [build_batch(1, spans=2)])
    pending = begin_batch(outbox)
    for _ in range(2):
        outbox.mark_sent(pending)
        outbox.replace_by_halves(pending, build_batch(8), build_batch(9))
        outbox.quarantine_batch(pending, "no")
        outbox.postpone_batch(pending, "no", NOW)
    assert not outbox.begin(pending)
    found = read_status(outbox)
    assert (found.sent_batches, found.sent_spans, found.pending_batches, found.quarantined_batches) == (1, 2, 0, 0)


def test_a_target_is_left_alone_until_its_time_has_come(outbox: Outbox) -> None:
    outbox.put(KEY, [build_batch(1), build_batch(2)])
    outbox.put("elsewhere", [build_batch(1)])
    outbox.postpone_batch(begin_batch(outbox), "503: busy", NOW + 60)
    assert outbox.find_due_batch(KEY, NOW + 59) is None
    assert outbox.compute_wait(KEY, NOW + 59) == 1
    assert outbox.find_due_batch("elsewhere", NOW) is not None
    assert due(outbox, NOW + 60).batch == build_batch(1)
    assert due(outbox, NOW + 60).fails == 1


def test_a_target_for_which_nothing_waits_has_no_next_time(outbox: Outbox) -> None:
    assert outbox.compute_wait(KEY, NOW) is None
    outbox.put(KEY, [build_batch(1)])
    assert outbox.compute_wait(KEY, NOW) == 0
    outbox.mark_sent(begin_batch(outbox))
    assert outbox.compute_wait(KEY, NOW) is None
    assert outbox.find_due_batch(KEY, NOW) is None


def test_a_clock_that_was_set_back_ends_the_pause(outbox: Outbox) -> None:
    outbox.put(KEY, [build_batch(1)])
    outbox.postpone_batch(begin_batch(outbox), "503", NOW + 600)
    assert outbox.find_due_batch(KEY, NOW - 86_400) is not None


def test_a_clock_that_was_set_forward_ends_the_pause(outbox: Outbox) -> None:
    outbox.put(KEY, [build_batch(1)])
    outbox.postpone_batch(begin_batch(outbox), "503", NOW + 600)
    assert outbox.find_due_batch(KEY, NOW + 10**9) is not None


def test_a_success_ends_the_pause_for_good(outbox: Outbox) -> None:
    outbox.put(KEY, [build_batch(1), build_batch(2)])
    outbox.postpone_batch(begin_batch(outbox), "503", NOW + 600)
    outbox.mark_sent(begin_batch(outbox, NOW + 600))
    assert due(outbox, NOW + 300).fails == 0


def test_who_still_holds_a_batch_that_is_gone_can_do_no_harm_to_the_next_one(outbox: Outbox) -> None:
    outbox.put(KEY, [build_batch(1)])
    old = begin_batch(outbox)
    outbox.mark_sent(old)
    outbox.put(KEY, [build_batch(2)])
    outbox.mark_sent(old)
    assert due(outbox).batch == build_batch(2)


def test_a_clock_that_moves_changes_no_order(outbox: Outbox, clock: Clock) -> None:
    for number, moved in enumerate((0, -(10**8), 10**8)):
        clock.time = NOW + moved
        outbox.put(KEY, [build_batch(number)])
    out = []
    while pending := outbox.find_due_batch(KEY, NOW):
        outbox.mark_sent(pending)
        out.append(pending.batch)
    assert out == [build_batch(0), build_batch(1), build_batch(2)]


def test_a_batch_that_fails_again_and_again_lets_the_others_pass(outbox: Outbox) -> None:
    outbox.put(KEY, [build_batch(1), build_batch(2)])
    for _ in range(LATE_AFTER_TRIES):
        assert due(outbox).batch == build_batch(1)
        outbox.postpone_batch(begin_batch(outbox), "500", NOW)
    assert due(outbox).batch == build_batch(2)
    outbox.mark_sent(begin_batch(outbox))
    assert due(outbox).batch == build_batch(1)


def test_a_batch_at_which_its_sender_dies_again_and_again_lets_the_others_pass(outbox: Outbox) -> None:
    outbox.put(KEY, [build_batch(1), build_batch(2)])
    for _ in range(LATE_AFTER_TRIES):
        assert begin_batch(outbox).batch == build_batch(1)
    assert due(outbox).batch == build_batch(2)


def test_halves_take_the_place_of_the_whole(outbox: Outbox) -> None:
    outbox.put(KEY, [build_batch(1, spans=4), build_batch(2)])
    whole = begin_batch(outbox)
    first, second = _parts(whole.batch)
    outbox.replace_by_halves(whole, first, second)
    half = begin_batch(outbox)
    outbox.replace_by_halves(half, *_parts(half.batch))
    out: list[bytes] = []
    while pending := outbox.find_due_batch(KEY, NOW):
        outbox.mark_sent(pending)
        out += pending.batch.spans
    assert out == [*build_batch(1, spans=4).spans, *build_batch(2).spans]


def test_what_was_refused_stays_with_the_servers_words_until_it_is_asked_for_again(
    outbox: Outbox, clock: Clock
) -> None:
    outbox.put(KEY, [build_batch(1, spans=2), build_batch(2)])
    outbox.quarantine_batch(begin_batch(outbox), "400: a bad \ud800 span")
    (found,) = outbox.list_quarantined(KEY)
    assert (found.trace, found.spans, found.refused) == (trace_id(1), build_batch(1, 2).spans, NOW)
    assert found.error == "400: a bad \\ud800 span"
    assert outbox.list_quarantined("elsewhere") == []
    assert due(outbox).batch == build_batch(2)
    assert outbox.requeue("elsewhere") == 0
    assert outbox.requeue(KEY) == 1
    assert due(outbox).batch == build_batch(1, spans=2)
    assert outbox.list_quarantined(KEY) == []


def test_the_status_says_what_was_done_and_what_is_left(outbox: Outbox, clock: Clock) -> None:
    outbox.name_target(KEY, "here (http://127.0.0.1)")
    outbox.put(KEY, [build_batch(number, spans=number) for number in (1, 2, 3, 4)])
    outbox.mark_sent(begin_batch(outbox), "1 span was too old")
    clock.time += 10
    outbox.quarantine_batch(begin_batch(outbox), "400: no")
    clock.time += 10
    outbox.postpone_batch(begin_batch(outbox), "503: busy", clock.time + 60)
    found = read_status(outbox)
    assert found.shown == "here (http://127.0.0.1)"
    assert (found.sent_spans, found.sent_batches) == (1, 1)
    assert (found.pending_spans, found.pending_batches) == (7, 2)
    assert found.pending_bytes == len(build_batch(3, 3).body) + len(build_batch(4, 4).body)
    assert (found.quarantined_spans, found.quarantined_batches, found.quarantined_bytes) == (
        2,
        1,
        len(build_batch(2, 2).body),
    )
    assert (found.partials, found.warning, found.warned) == (1, "1 span was too old", NOW)
    assert (found.oldest, found.last_success) == (NOW, NOW)
    assert (found.last_error, found.failed, found.fails) == ("503: busy", NOW + 20, 1)
    assert found.next_attempt == NOW + 80
    assert found.refusal == "400: no"
    outbox.end_pause(KEY)
    assert (read_status(outbox).next_attempt, read_status(outbox).fails) == (None, 0)


def test_a_target_without_a_name_is_shown_by_its_key(outbox: Outbox) -> None:
    outbox.put(KEY, [build_batch(1)])
    assert read_status(outbox).shown == KEY


def test_a_full_outbox_takes_nothing_says_so_and_goes_on_when_there_is_room(path: Path, clock: Clock) -> None:
    room = len(build_batch(2).body) + len(build_batch(3).body)
    with Outbox.open(path, cap_bytes=room, clock=clock) as outbox:
        outbox.put(KEY, [build_batch(1)], "/a", "one")
        with pytest.raises(OutboxFull, match="held back until some are sent"):
            outbox.put(KEY, [build_batch(2), build_batch(3)], "/a", "two")
        assert outbox.read_progress(KEY, "/a") == "one"
        assert outbox.find_claims(KEY, [*build_batch(2).spans, *build_batch(3).spans]) == {}
        found = read_status(outbox)
        assert (found.pending_batches, found.held_since) == (1, NOW)
        assert found.held_back is not None
        outbox.put("elsewhere", [build_batch(2), build_batch(3)])
        outbox.put(KEY, [], "/b", "no spans, no room")
        assert outbox.list_statuses()[0].held_back is not None
        outbox.mark_sent(begin_batch(outbox))
        outbox.put(KEY, [build_batch(2), build_batch(3)], "/a", "two")
        assert outbox.list_statuses()[0].held_back is None


def test_the_outbox_can_be_read_by_its_owner_alone(outbox: Outbox, path: Path) -> None:
    outbox.put(KEY, [build_batch(1)])
    assert {part.stat().st_mode & 0o777 for part in path.parent.iterdir()} <= {0o600}
    assert len([*path.parent.iterdir()]) == 3
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_the_room_of_what_was_sent_is_given_back(path: Path) -> None:
    with Outbox.open(path) as outbox:
        outbox.put(KEY, [SpanBatch(trace_id(n), build_batch(n).spans, os.urandom(1 << 20)) for n in range(10)])
        for _ in range(10):
            outbox.mark_sent(begin_batch(outbox))
        outbox.shrink()
    assert path.stat().st_size < 1 << 20


def test_changes_that_belong_together_are_made_together_or_not_at_all(outbox: Outbox) -> None:
    outbox.put(KEY, [build_batch(1), build_batch(2)])
    with suppress(KeyboardInterrupt), outbox.hold_transaction():
        outbox.mark_sent(begin_batch(outbox))
        begin_batch(outbox)
        raise KeyboardInterrupt
    assert (read_status(outbox).pending_batches, read_status(outbox).repeats) == (2, 0)
    assert due(outbox).tries == 0


def test_many_writers_at_once_lose_nothing(path: Path) -> None:
    troubles: list[BaseException] = []

    def write(first: int) -> None:
        try:
            with Outbox.open(path) as mine:
                for number in range(first, first + 10):
                    mine.put(KEY, [build_batch(number)], f"/{first}", str(number))
        except BaseException as error:  # noqa: BLE001 - told by the test
            troubles.append(error)

    threads = [Thread(target=write, args=(first,)) for first in range(0, 60, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert troubles == []
    with Outbox.open(path) as outbox:
        assert read_status(outbox).pending_batches == 60
        assert [outbox.read_progress(KEY, f"/{first}") for first in range(0, 60, 10)] == "9 19 29 39 49 59".split()


def test_of_two_that_put_the_same_spans_one_is_told(path: Path) -> None:
    with Outbox.open(path) as one, Outbox.open(path) as two:
        assert one.find_claims(KEY, build_batch(1).spans) == two.find_claims(KEY, build_batch(1).spans) == {}
        one.put(KEY, [build_batch(1)])
        with pytest.raises(OutboxOvertaken):
            two.put(KEY, [build_batch(1)])


def test_an_outbox_of_another_version_is_left_as_it_is(path: Path) -> None:
    Outbox.open(path).close()
    with apsw.Connection(str(path)) as db:
        db.pragma("user_version", 99)
    db.close()
    with pytest.raises(TurnlogError, match="a different version of turnlog"):
        Outbox.open(path)


def test_a_damaged_outbox_is_told_and_left_as_it_is(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database at all, but long enough to look like one" * 100)
    with pytest.raises(TurnlogError, match=r"damaged .* move the file aside"):
        Outbox.open(path)
    assert path.read_bytes().startswith(b"no database at all")


@pytest.mark.skipif(sys.platform == "win32", reason="files are locked otherwise there")
def test_a_folder_that_cant_be_made_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text("a file")
    with pytest.raises(TurnlogError, match=r"outbox\.db: File exists"):
        Outbox.open(tmp_path / "trace" / "outbox.db")


_LIMITED = """
import resource, sys
from pathlib import Path
from tests.trace.batches import KEY, build_batch
from turnlog.errors import TurnlogError
from turnlog.trace.wire.batch import SpanBatch
from turnlog.trace.outbox.outbox import Outbox, OutboxFull
with Outbox.open(Path(sys.argv[1])) as outbox:
    outbox.put(KEY, [build_batch(1)], "/a", "one")
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
    large = build_batch(2)._replace(body=bytes(3_000_000))
    try:
        outbox.put(KEY, [large], "/a", "two")
    except TurnlogError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of POSIX")
def test_a_disk_that_takes_no_more_is_told_and_loses_nothing(path: Path) -> None:
    words = [sys.executable, "-c", _LIMITED, str(path)]
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        words, cwd=root, capture_output=True, encoding="utf-8", env={**os.environ, "PYTHONPATH": root}
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1
    assert "nothing was lost" in done.stdout
    with Outbox.open(path) as outbox:
        assert outbox.read_progress(KEY, "/a") == "one"
        assert outbox.find_claims(KEY, build_batch(2).spans) == {}
        assert due(outbox).batch == build_batch(1)
        outbox.put(KEY, [build_batch(2)], "/a", "two")


def _parts(batch: SpanBatch) -> tuple[SpanBatch, SpanBatch]:
    from turnlog.trace.wire.otlp import halve_batch

    found = halve_batch(batch)
    assert found is not None
    return found


@pytest.mark.parametrize("place", range(100))
def test_damage_in_its_header_is_told_in_one_line(path: Path, place: int) -> None:
    with Outbox.open(path) as outbox:
        outbox.put("t", [], "a", "b")
    sound = path.read_bytes()
    for bits in (0xFF, 0x01, 0x80):
        data = bytearray(sound)
        data[place] ^= bits
        path.write_bytes(data)
        with suppress(TurnlogError), Outbox.open(path) as outbox:
            assert outbox.read_progress("t", "a") in ("b", None)
            outbox.put("t", [], "a", "b")
        for ending in ("-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)


@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal"])
def test_a_folder_in_its_place_is_told(path: Path, ending: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_name(path.name + ending).mkdir()
    with pytest.raises(TurnlogError, match="damaged"), Outbox.open(path):
        pass
