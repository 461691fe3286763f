"""`turnlog board`: which sessions need somebody, in a terminal with keys, in a pipe and as JSON."""

from __future__ import annotations

import base64
import os
import re
import stat
from pathlib import Path

import pytest

from tests.cli.conftest import Machine, Turnlog
from tests.cli.terminals import WrittenSession, open_seat
from tests.cli.test_json_doc import keys, list_documented_keys
from tests.session.build import SESSION

pytestmark = pytest.mark.skipif(os.name == "nt", reason="terminals of POSIX systems")
OTHER = "22222222-2222-4333-8444-555555555555"


def ask(session: WrittenSession, text: str = "Keep it?") -> None:
    question = {"questions": [{"question": text}]}
    session.build.call(f"q-{session.name[:2]}", "AskUserQuestion", question, cwd=session.cwd)
    session.write()


def test_sessions_are_grouped_and_who_needs_somebody_comes_first(machine: Machine, turnlog: Turnlog) -> None:
    WrittenSession(machine)
    ask(WrittenSession(machine, OTHER, "/home/dana/notes"))
    lines = turnlog("board").lines
    assert lines[0] == "Needs you (1)"
    assert "asks: Keep it?" in "\n".join(lines[1:4])
    assert "Working (1)" in lines


def test_json_has_the_documented_keys(machine: Machine, turnlog: Turnlog) -> None:
    session = WrittenSession(machine)
    usage = {"input_tokens": 1000, "output_tokens": 100}
    session.build.answer("on it", usage=usage, stop=None)
    session.build.call("a1", "Agent", {"description": "look"})
    session.write()
    found = turnlog("board", "--json").json
    assert set(keys(found)) == list_documented_keys("board")
    (row,) = found["sessions"]
    assert (row["session_id"], row["column"], row["path"]) == (SESSION, "working", str(session.path))
    assert row["state"]["agents"] == ["look"]
    assert row["cost_usd"] == pytest.approx(turnlog("show", SESSION, "--json").json["usage"]["cost_usd"])


def test_a_project_limits_the_board(machine: Machine, turnlog: Turnlog) -> None:
    WrittenSession(machine)
    WrittenSession(machine, OTHER, "/home/dana/notes")
    found = turnlog("board", "--json", "--project", "notes").json
    assert [row["session_id"] for row in found["sessions"]] == [OTHER]


def test_without_sessions_it_says_how_to_try(machine: Machine, turnlog: Turnlog) -> None:
    (machine.folder / "projects").mkdir(parents=True, exist_ok=True)
    assert "turnlog board --demo" in turnlog("board").out
    assert turnlog("board", "--json").json == {"files": 0, "sessions": []}


def test_the_demo_needs_a_terminal(turnlog: Turnlog) -> None:
    done = turnlog("board", "--demo")
    assert (done.status, done.out) == (2, "")
    assert "--demo requires a terminal" in done.err


def test_keys_choose_a_session_and_copy_the_command_that_resumes_it(machine: Machine) -> None:
    WrittenSession(machine)
    ask(WrittenSession(machine, OTHER, "/home/dana/my notes"))
    with open_seat(["board"]) as seat:
        seat.wait_for(lambda screen: "Needs you (1)" in screen.text and "Working (1)" in screen.text)
        first = f"cd '/home/dana/my notes' && claude --resume {OTHER}"
        seat.press("c")
        seat.wait_for(lambda screen: first in screen.text)
        seat.press("\x1b[Bc")
        second = f"cd /home/dana/webshop && claude --resume {SESSION}"
        seat.wait_for(lambda screen: second in screen.text)
        copied = [text.split(";")[2] for text in seat.screen.clipboard]
        assert [base64.b64decode(text).decode() for text in copied] == [first, second]
        seat.press("q")
        assert seat.wait() == 0
        assert seat.is_restored
        assert "Needs you" not in seat.screen.text


def test_the_board_follows_the_sessions_while_it_is_open(machine: Machine) -> None:
    session = WrittenSession(machine)
    with open_seat(["board"]) as seat:
        seat.wait_for(lambda screen: "Working (1)" in screen.text)
        ask(session, "Which \x1b[2Jone?")
        # What is drawn may arrive in two parts.
        seat.wait_for(lambda screen: "Needs you (1)" in screen.text and "Which \\x1b[2Jone?" in screen.text)
        seat.wait_for(lambda screen: screen.text.count("Fix the cart") == 1)
        assert seat.end() == 0
        assert seat.is_restored


def test_many_sessions_never_take_more_than_the_screen(machine: Machine) -> None:
    for number in range(15):
        WrittenSession(machine, f"{number:08d}-2222-4333-8444-555555555555")
    with open_seat(["board"], rows=12) as seat:
        seat.wait_for(lambda screen: "Working (15)" in screen.text)
        for _ in range(14):
            seat.press("\x1b[B")
        seat.press("c")
        seat.wait_for(lambda screen: "claude --resume" in screen.text)
        seat.press("q")
        assert seat.wait() == 0


@pytest.mark.slow
def test_enter_opens_the_session_in_a_browser_and_ends_the_server_that_it_started(
    machine: Machine, tmp_path: Path
) -> None:
    WrittenSession(machine)
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" >> {opened}\n')
    browser.chmod(browser.stat().st_mode | stat.S_IXUSR)
    with open_seat(["board"], columns=160, BROWSER=f"{browser} %s") as seat:
        seat.wait_for(lambda screen: "Working (1)" in screen.text)
        seat.press("\r")
        seat.wait_for(lambda screen: f"/live/{SESSION}" in screen.text)
        seat.wait_for(lambda _: opened.exists() and opened.read_text().endswith("\n"))
        address = re.fullmatch(rf"http://127\.0\.0\.1:\d+/live/{SESSION}\?token=\S+\n", opened.read_text())
        assert address or opened.read_text() == f"http://127.0.0.1:4747/live/{SESSION}\n"
        seat.press("q")
        assert seat.wait() == 0
