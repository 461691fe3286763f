"""Waiting for the end of a transcript, which the client writes after it has said that it stops."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.session.build import DATA, Build, encode_lines
from turnlog.trace.transcript_end import (
    ExpectedEnd,
    TranscriptEnd,
    WaitLimits,
    judge_transcript_end,
    read_transcript_end,
    wait_for_transcript_end,
    wait_until_quiet,
)

SHORT = WaitLimits(answer=0.3, duration=0.05, quiet=0.05)
LONG = WaitLimits(answer=30, duration=30, quiet=0.05)
OLD = 1_700_000_000


def turn(*, answer: str = "Done.", prompt: str | None = "p1") -> Build:
    build = Build()
    fields: dict[str, Any] = {"promptId": prompt} if prompt else {}
    build.prompt("go", **fields)
    build.call("c1")
    build.result("c1", **fields)
    build.answer(answer)
    return build


def write(path: Path, build: Build, *, cut: int = 0, mtime: float | None = OLD) -> Path:
    data = encode_lines(build.lines)
    path.write_bytes(data[: len(data) - cut])
    if mtime is not None:
        os.utime(path, (mtime, mtime))
    return path


def test_an_answer_without_a_call_is_a_rest(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", turn(answer=" It is\ndone. "))
    assert read_transcript_end(path) == TranscriptEnd(is_rest=True, text=" It is\ndone. ", prompts=("p1",))


def test_a_line_that_is_not_complete_is_not_there_yet(tmp_path: Path) -> None:
    assert read_transcript_end(write(tmp_path / "s.jsonl", turn(), cut=1)) == TranscriptEnd(prompts=("p1",))


def test_texts_and_calls_of_one_answer_belong_together(tmp_path: Path) -> None:
    build = Build()
    build.prompt()
    build.answer("First, ", id="m")
    build.answer("a look.", id="m")
    assert read_transcript_end(write(tmp_path / "s.jsonl", build)).text == "First, a look."
    build.call("c1", id="m")
    assert not read_transcript_end(write(tmp_path / "s.jsonl", build)).is_rest


def test_book_keeping_behind_the_answer_does_not_hide_it(tmp_path: Path) -> None:
    build = turn()
    build.system("stop_hook_summary")
    build.note("last-prompt", lastPrompt="x" * 300_000)
    assert read_transcript_end(write(tmp_path / "s.jsonl", build)) == TranscriptEnd(True, "Done.", ("p1",))
    build.system("turn_duration", durationMs=5)
    assert read_transcript_end(write(tmp_path / "s.jsonl", build)).has_duration


def test_a_sub_agent_in_the_sessions_own_file_is_not_its_end(tmp_path: Path) -> None:
    build = turn()
    build.answer("An agent's.", isSidechain=True)
    assert read_transcript_end(write(tmp_path / "s.jsonl", build)).text == "Done."


def test_a_file_that_is_not_there_has_no_end(tmp_path: Path) -> None:
    assert read_transcript_end(tmp_path / "none.jsonl") == TranscriptEnd()


@pytest.mark.parametrize(
    ("found", "expected", "verdict"),
    [
        (TranscriptEnd(True, " All\ndone. ", ("p",)), ExpectedEnd("All\ndone.", "p"), "there"),
        (TranscriptEnd(True, "First. Then.", ("p",)), ExpectedEnd("Then.", "p"), "there"),
        (TranscriptEnd(True, "Done.", ()), ExpectedEnd("Done.", "p"), "there"),
        (TranscriptEnd(True, "Done.", ()), ExpectedEnd(), "there"),
        (TranscriptEnd(True, "", ("p",)), ExpectedEnd("", "p"), "there"),
        (TranscriptEnd(False, "Done.", ("p",)), ExpectedEnd("Done.", "p"), "missing"),
        (TranscriptEnd(True, "Before.", ("p",)), ExpectedEnd("Done.", "p"), "missing"),
        (TranscriptEnd(True, "Done.", ("before",)), ExpectedEnd("Done.", "p"), "missing"),
        (TranscriptEnd(True, "Done.", ("p", "next")), ExpectedEnd("Done.", "p"), "passed"),
        (TranscriptEnd(), ExpectedEnd("Done.", "p"), "missing"),
    ],
)
def test_the_end_is_the_expected_one_or_not(found: TranscriptEnd, expected: ExpectedEnd, verdict: str) -> None:
    assert judge_transcript_end(found, expected) == verdict


def test_an_answer_that_comes_late_is_waited_for(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", turn(), cut=40, mtime=None)
    rest = encode_lines(turn().lines)[-40:]

    def later() -> None:
        time.sleep(0.2)
        with path.open("ab") as file:
            file.write(rest)

    writer = threading.Thread(target=later)
    writer.start()
    verdict = wait_for_transcript_end(path, ExpectedEnd("Done.", "p1"), LONG, enough=lambda: True)
    writer.join()
    assert verdict == "there"


def test_an_answer_that_never_comes_is_given_up(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", turn(answer="Another."))
    assert wait_for_transcript_end(path, ExpectedEnd("Done.", "p1"), SHORT) == "missing"
    assert wait_for_transcript_end(tmp_path / "none.jsonl", ExpectedEnd("Done."), SHORT) == "missing"


def test_a_session_that_went_on_is_not_waited_for(tmp_path: Path) -> None:
    build = turn()
    build.prompt("more", promptId="p2")
    assert wait_for_transcript_end(write(tmp_path / "s.jsonl", build), ExpectedEnd("Done.", "p1"), LONG) == "passed"


def test_a_client_that_tells_nothing_is_at_rest_when_it_has_been_quiet(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", turn(prompt=None))
    assert wait_for_transcript_end(path, ExpectedEnd(), SHORT) == "there"
    os.utime(path, (time.time() + 3600, time.time() + 3600))
    assert wait_for_transcript_end(path, ExpectedEnd(), SHORT) == "there", "the clock was set back"
    os.utime(path)
    assert wait_for_transcript_end(path, ExpectedEnd(), SHORT._replace(quiet=60)) == "missing"


def test_the_time_that_the_turn_took_is_waited_for(tmp_path: Path) -> None:
    build = turn()
    path = write(tmp_path / "s.jsonl", build)
    build.system("turn_duration", durationMs=5)
    whole = encode_lines(build.lines)

    def later() -> None:
        time.sleep(0.2)
        path.write_bytes(whole)

    writer = threading.Thread(target=later)
    writer.start()
    wait_for_transcript_end(path, ExpectedEnd("Done.", "p1"), LONG)
    assert read_transcript_end(path).has_duration
    writer.join()


def test_a_file_that_nobody_writes_is_settled(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", turn())
    assert wait_until_quiet(path, SHORT)
    os.utime(path)
    assert not wait_until_quiet(path, SHORT._replace(quiet=60))
    assert wait_until_quiet(tmp_path / "none.jsonl", SHORT)


def test_every_recorded_session_has_an_end() -> None:
    paths = list(DATA.glob("sessions/**/*.jsonl"))
    assert sum(read_transcript_end(path).is_rest for path in paths) > len(paths) / 2


def test_what_was_told_long_ago_is_not_waited_for() -> None:
    now = time.time_ns()
    assert LONG.deduct_elapsed(now - 31 * 10**9).answer == 0
    assert 19 < LONG.deduct_elapsed(now - 10 * 10**9).answer <= 20
    assert LONG.deduct_elapsed(now + 10**12).answer == 30, "the clock was set back"
