"""`turnlog trace status` and `turnlog trace flush`: what waits and why, and sending it now."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import HOSTILE, Turnlog, harmful
from tests.trace.batches import build_batch, span_id
from tests.trace.recorder import Recorder
from turnlog.store.file_lock import try_lock_file
from turnlog.trace.outbox.delivery import build_lock_path
from turnlog.trace.outbox.outbox import Outbox, OutboxFull, PendingBatch
from turnlog.trace.targets.target import TraceTarget
from turnlog.trace.targets.targets import list_configured_targets
from turnlog.trace.trouble import write_trouble


class Place:
    """An outbox in a data folder of its own, and a backend that the environment names."""

    def __init__(self, folder: Path, recorder: Recorder) -> None:
        self.folder = folder
        self.recorder = recorder
        self.path = folder / "outbox.db"

    @property
    def target(self) -> TraceTarget:
        (found,) = list_configured_targets({}, {"OTEL_EXPORTER_OTLP_ENDPOINT": self.recorder.url})
        return found

    def put(self, *numbers: int, spans: int = 1) -> None:
        with Outbox.open(self.path) as outbox:
            outbox.put(self.target.key, [build_batch(number, spans) for number in numbers])

    def begin_batch(self, outbox: Outbox) -> PendingBatch:
        pending = outbox.find_due_batch(self.target.key, time.time())
        assert pending is not None
        outbox.begin(pending)
        return pending


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "home"))
    with Recorder() as recorder:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", recorder.url)
        yield Place(tmp_path / "home" / "trace", recorder)


def test_without_a_target_it_is_said_how_to_have_one_and_nothing_is_made(
    turnlog: Turnlog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "home"))
    done = turnlog("trace", "status")
    assert (done.status, done.err) == (0, "")
    assert done.lines[0].startswith(
        "Nothing is traced: no target is configured. To add one, set OTEL_EXPORTER_OTLP_ENDPOINT"
    )
    assert turnlog("trace", "status", "--json").json["targets"] == []
    assert not (tmp_path / "home").exists()


def test_a_target_that_was_never_sent_anything_is_listed(turnlog: Turnlog, place: Place) -> None:
    (found,) = turnlog("trace", "status", "--json").json["targets"]
    assert found["target"] == place.target.display_name
    assert (found["configured"], found["sent_spans"], found["pending_spans"], found["oldest"]) == (True, 0, 0, None)
    assert not place.folder.exists()


def test_the_table_has_every_number_and_says_what_is_counted(turnlog: Turnlog, place: Place) -> None:
    place.put(1, 2, 3, spans=4)
    with Outbox.open(place.path) as outbox:
        outbox.mark_sent(place.begin_batch(outbox), "1 span rejected: too old")
        outbox.quarantine_batch(place.begin_batch(outbox), "400: broken")
        place.begin_batch(outbox)
        place.begin_batch(outbox)
    lines = turnlog("trace", "status").lines
    assert lines[0].split() == "target sent pending quarantined repeated oldest pending last success".split()
    shown = place.target.display_name
    assert lines[1].replace(shown, "").split() == "4 4 4 4 just now just now".split()
    remedy = "fix the cause, then run `turnlog trace flush --quarantined`"
    assert f"{shown}: 1 request refused (400: broken); {remedy}" in lines
    assert any("1 request accepted only in part, the last just now: 1 span rejected: too old" in x for x in lines)
    assert any(line.startswith("Numbers are spans, counted once per target.") for line in lines)


def test_a_server_that_is_left_alone_is_said_with_when_it_is_asked_again(turnlog: Turnlog, place: Place) -> None:
    place.put(1)
    with Outbox.open(place.path) as outbox:
        outbox.postpone_batch(place.begin_batch(outbox), "503: busy", time.time() + 500)
    assert "failed just now: 503: busy (1 failure in a row; next attempt in 8 min" in turnlog("trace", "status").out
    (found,) = turnlog("trace", "status", "--json").json["targets"]
    assert (found["last_error"], found["fails"], found["failed"] < found["next_attempt"]) == ("503: busy", 1, True)


def test_spans_that_are_held_back_are_said_with_the_reason(turnlog: Turnlog, place: Place) -> None:
    with Outbox.open(place.path, cap_bytes=10) as outbox, pytest.raises(OutboxFull):
        outbox.put(place.target.key, [build_batch(1)])
    assert "new spans have been held back since " in turnlog("trace", "status").out
    assert "the limit is 10" in turnlog("trace", "status", "--json").json["targets"][0]["held_back"]


def test_a_target_that_is_no_longer_configured_is_shown_with_what_waits_for_it(
    turnlog: Turnlog, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.put(1)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    assert "not configured; its pending spans are kept in the outbox" in turnlog("trace", "status").out
    assert [item["configured"] for item in turnlog("trace", "status", "--json").json["targets"]] == [False, True]
    done = turnlog("trace", "flush")
    assert (done.status, place.recorder.requests) == (0, [])
    assert "not configured; 1 span is still waiting" in done.err


def test_settings_that_are_off_hide_nothing(turnlog: Turnlog, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.put(1)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://nowhere")
    done = turnlog("trace", "status")
    assert done.status == 0
    assert done.lines[0].startswith("The settings are invalid: ")
    assert turnlog("trace", "status", "--json").json["targets"][0]["pending_spans"] == 1
    assert turnlog("trace", "flush").status == 2


def test_what_went_wrong_in_the_background_is_said(turnlog: Turnlog, place: Place) -> None:
    place.put(1)
    write_trouble(place.folder, "OSError: no room")
    assert turnlog("trace", "status").lines[0] == "In the background, just now: OSError: no room"
    assert turnlog("trace", "status", "--json").json["trouble"]["words"] == "OSError: no room"


def test_words_of_a_server_can_do_nothing_to_the_terminal(turnlog: Turnlog, place: Place) -> None:
    place.put(1, 2)
    with Outbox.open(place.path) as outbox:
        outbox.name_target("elsewhere", HOSTILE)
        outbox.mark_sent(place.begin_batch(outbox), HOSTILE)
        outbox.quarantine_batch(place.begin_batch(outbox), HOSTILE)
    write_trouble(place.folder, HOSTILE)
    assert harmful(turnlog("trace", "status").out) == set()


def test_flush_sends_what_waits_without_regard_to_the_pause(turnlog: Turnlog, place: Place) -> None:
    place.put(1, 2, spans=3)
    with Outbox.open(place.path) as outbox:
        outbox.postpone_batch(place.begin_batch(outbox), "503: busy", time.time() + 500)
    done = turnlog("trace", "flush")
    assert (done.status, done.err) == (0, "")
    assert done.lines == [f"{place.target.display_name}: 6 spans sent in 2 requests"]
    assert len(place.recorder.spans) == 6
    assert turnlog("trace", "flush").lines == [f"{place.target.display_name}: 0 spans sent in 0 requests"]


def test_flush_where_nothing_was_ever_put_makes_nothing(turnlog: Turnlog, place: Place) -> None:
    assert turnlog("trace", "flush").status == 0
    assert not place.folder.exists()


def test_flush_that_fails_says_why_and_keeps_everything(turnlog: Turnlog, place: Place) -> None:
    place.put(1, 2)
    place.recorder.default = ("status", 503, "out for lunch")
    done = turnlog("trace", "flush", "--wait", "0")
    assert done.status == 1
    assert done.lines == [
        f"{place.target.display_name}: 0 spans sent in 0 requests, 2 spans still pending (503: out for lunch)"
    ]
    place.recorder.default = 200
    assert turnlog("trace", "flush", "--json").json["targets"][0]["sent_spans"] == 2


def test_flush_waits_for_a_server_that_comes_back(turnlog: Turnlog, place: Place) -> None:
    place.put(1)
    place.recorder.answers.append(503)
    assert turnlog("trace", "flush", "--wait", "30").status == 0
    assert [span["span"] for span in place.recorder.spans] == [span_id(100).hex()]


def test_flush_sends_what_was_refused_only_when_it_is_asked_to(turnlog: Turnlog, place: Place) -> None:
    place.put(1)
    place.recorder.answers.append(("status", 400, "bad key"))
    done = turnlog("trace", "flush")
    assert done.status == 1
    assert done.lines == [f"{place.target.display_name}: 0 spans sent in 0 requests, 1 request refused (400: bad key)"]
    assert turnlog("trace", "flush").status == 0
    assert place.recorder.spans == []
    assert turnlog("trace", "flush", "--quarantined").status == 0
    assert len(place.recorder.spans) == 1


def test_flush_beside_another_process_that_sends_says_so(turnlog: Turnlog, place: Place) -> None:
    place.put(1)
    with try_lock_file(build_lock_path(place.folder, place.target.key)):
        done = turnlog("trace", "flush")
    assert done.status == 0
    assert done.out.endswith("1 span still pending, another process is sending to it\n")


def test_flush_knows_its_targets_by_name(turnlog: Turnlog, place: Place) -> None:
    place.put(1)
    assert turnlog("trace", "flush", "--target", "nobody").status == 2
    assert turnlog("trace", "flush", "--target", "otel").status == 0
    assert len(place.recorder.spans) == 1


def test_flush_without_a_target_is_a_mistake_of_the_call(
    turnlog: Turnlog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "home"))
    done = turnlog("trace", "flush")
    assert (done.status, len(done.err.splitlines())) == (2, 1)


def test_the_help_of_the_group_names_its_commands(turnlog: Turnlog) -> None:
    done = turnlog("trace", "--help")
    assert done.status == 0
    assert "work" not in [line.split()[0] for line in done.lines if line.startswith("  ")]
    assert turnlog("trace", "nonsense").status == 2
