"""`turnlog watch`: events as they happen, in a terminal, in a pipe and as JSON."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.cli.conftest import Machine, Turnlog
from tests.cli.terminals import WrittenSession, open_seat
from tests.session.build import SESSION

pytestmark = pytest.mark.skipif(os.name == "nt", reason="terminals of POSIX systems")
OTHER = "22222222-2222-4333-8444-555555555555"
_READY_WORD = "ready-"


@contextmanager
def run_watch(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-m", "turnlog", "watch", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def read_until(process: subprocess.Popen[bytes], session: WrittenSession, fits: Callable[[bytes], bool]) -> list[bytes]:
    """Write until the first event arrives, since nobody says when watching has started, and read until a line fits."""
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    found = b""
    number = 0
    while not any(map(fits, found.splitlines())):
        session.say(f"{_READY_WORD}{number}")
        number += 1
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.3)
        found += process.stdout.read() or b""
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert number < 200
    return found.splitlines()


def test_json_is_one_event_a_line_written_at_once(machine: Machine) -> None:
    session = WrittenSession(machine)
    with run_watch("--json") as process:
        lines = read_until(process, session, lambda line: _READY_WORD.encode() in line)
        first = json.loads(lines[0])
        assert (first["event"], first["session"], first["actor"]) == ("text", SESSION, "main")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_in_a_pipe_each_event_is_one_plain_line(machine: Machine) -> None:
    session = WrittenSession(machine)
    with run_watch() as process:
        session.say("first\nsecond \x1b[31mred\x1b[0m \u202e")
        read_until(process, session, lambda line: _READY_WORD.encode() in line)
        session.build.call("c1", "Bash", {"command": "make\x07 test"}, cwd=session.cwd)
        lines = read_until(process, session, lambda line: b"  call  " in line)
        (call,) = [line for line in lines if b"  call  " in line]
        time, short, actor, kind, text = call.decode().split("  ", 4)
        assert (short, actor, kind) == (SESSION[:8], "main", "call")
        assert text.startswith("Bash: make")
        assert time.endswith("Z")
        assert not {b"\x1b", b"\x07", "\u202e".encode()} & {bytes([byte]) for line in lines for byte in line}


def test_a_reader_that_leaves_ends_it_quietly(machine: Machine) -> None:
    WrittenSession(machine)
    with run_watch("--json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(60) in (0, 141)
        assert process.stderr.read() == b""


def test_only_the_chosen_session_is_watched(machine: Machine) -> None:
    session, other = WrittenSession(machine), WrittenSession(machine, OTHER)
    with run_watch("--json", SESSION) as process:
        other.say("not mine")
        lines = read_until(process, session, lambda line: _READY_WORD.encode() in line)
        other.say("still not mine")
        lines += read_until(process, session, lambda line: _READY_WORD.encode() in line)
        assert {json.loads(line)["session"] for line in lines} == {SESSION}


def test_since_starts_with_what_happened_before(machine: Machine) -> None:
    session = WrittenSession(machine)
    session.say("before the start")
    with run_watch("--json", "--since", "1h", "--project", "webshop") as process:
        lines = read_until(process, session, lambda line: b"before the start" in line)
        assert [json.loads(line)["event"] for line in lines[:3]] == ["session-start", "prompt", "text"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["last", "--all"], "SESSION and --all can't be combined"),
        (["--since", "yesterday"], "--since yesterday: not a time"),
        (["no such session"], "no session is called"),
    ],
)
def test_a_wrong_call_is_refused_in_one_line(
    turnlog: Turnlog, machine: Machine, words: list[str], complaint: str
) -> None:
    WrittenSession(machine)
    done = turnlog("watch", *words)
    assert done.status == 2 if "since" in complaint or "combined" in complaint else done.status == 1
    assert complaint in done.err


def test_a_terminal_shows_events_above_and_the_sessions_below(machine: Machine) -> None:
    session = WrittenSession(machine)
    with open_seat(["watch"]) as seat:
        seat.wait_for(lambda screen: "Fix the cart" in screen.text)
        session.say("All 8 tests\npass. \x1b]0;title\x07")
        seat.wait_for(lambda screen: "“pass." in screen.text)
        session.build.call("c1", "Bash", {"command": "make test"}, cwd=session.cwd)
        session.write()
        seat.wait_for(lambda screen: "• Bash: make test" in screen.text)
        seat.wait_for(lambda screen: screen.text.count("Bash: make test") >= 2)  # the event, and the state
        shown = seat.screen.visible
        event, title = (
            next(at for at, line in enumerate(shown) if word in line) for word in ("• Bash", "● Fix the cart")
        )
        assert event < title
        assert "webshop" in shown[title]
        assert "title" not in "".join(seat.screen.clipboard)
        assert seat.end() == 0
        assert seat.is_restored


def test_lines_that_scrolled_away_are_kept_and_the_table_is_shown_once(machine: Machine) -> None:
    session = WrittenSession(machine)
    with open_seat(["watch"], columns=80, rows=12) as seat:
        seat.wait_for(lambda screen: "Fix the cart" in screen.text)
        for number in range(40):
            session.say(f"text number {number}.")
        seat.wait_for(lambda screen: "● text number 39." in screen.text)
        kept = [line.split("● ")[1] for line in seat.screen.text.splitlines() if "● text number" in line]
        assert kept == [f"text number {number}." for number in range(40)]
        seat.wait_for(lambda screen: screen.text.count("● Fix the cart") == 1)
        assert seat.end(signal.SIGTERM) == 0
        assert seat.is_restored


@pytest.mark.parametrize("columns", [20, 40, 60])
def test_a_narrow_terminal_has_no_line_that_wraps(machine: Machine, columns: int) -> None:
    session = WrittenSession(machine)
    with open_seat(["watch"], columns=columns, rows=20) as seat:
        seat.wait_for(lambda screen: "Fix the" in screen.text)
        session.say("a long text " * 20 + "日本語" * 30)
        seat.wait_for(lambda screen: "a long" in screen.text)
        assert max(map(len, seat.screen.visible)) <= columns
        seat.resize(columns + 30, 20)
        session.say("after the resize")
        seat.wait_for(lambda screen: "after the" in screen.text)
        assert seat.end() == 0


def test_no_color_is_respected(machine: Machine) -> None:
    WrittenSession(machine)
    with open_seat(["watch"], NO_COLOR="1") as seat:
        seat.wait_for(lambda screen: "Fix the cart" in screen.text)
        assert seat.screen.styles == set()
        assert seat.end() == 0


def test_without_sessions_it_says_what_will_appear_and_how_to_try(machine: Machine) -> None:
    (machine.folder / "projects").mkdir(parents=True, exist_ok=True)
    with open_seat(["watch"]) as seat:
        seat.wait_for(lambda screen: "turnlog watch --demo" in screen.text and "No session is active." in screen.text)
        assert seat.end() == 0


@pytest.mark.slow
def test_the_demo_plays_in_a_folder_of_its_own_and_leaves_nothing(machine: Machine, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    before = sorted(machine.folder.rglob("*"))
    with open_seat(["watch", "--demo"], TMPDIR=str(temporary)) as seat:
        seat.wait_for(lambda screen: "└ Look at old coupons" in screen.text)
        assert any(temporary.iterdir())
        assert seat.end() == 0
        assert seat.is_restored
    assert sorted(machine.folder.rglob("*")) == before
    assert list(temporary.iterdir()) == []
