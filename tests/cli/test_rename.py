"""`turnlog rename` and `turnlog tag`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.session.build import SESSION, base


@pytest.fixture
def session(machine: Machine) -> Path:
    return machine.add(SESSION, base().data(), mtime=1_700_000_000)


def last(path: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads(path.read_bytes().splitlines()[-1])
    return found


def test_a_renamed_session_is_listed_and_found_by_its_title(turnlog: Turnlog, session: Path) -> None:
    done = turnlog("rename", "11111111", "Fix cent rounding")
    assert (done.status, done.out, done.err) == (0, f"{SESSION} is now titled 'Fix cent rounding'\n", "")
    assert turnlog("ls").lines[0].endswith("Fix cent rounding")
    assert turnlog("rename", "fix cent rounding", "Other").status == 0
    assert turnlog("show", "Other", "--json").json["title"] == "Other"


def test_a_tag_is_given_and_taken_away(turnlog: Turnlog, session: Path) -> None:
    assert turnlog("tag", SESSION, "#urgent").out == f"{SESSION} is now tagged #urgent\n"
    assert last(session) == {"type": "tag", "tag": "urgent", "sessionId": SESSION}
    assert turnlog("tag", SESSION, "--remove").out == f"{SESSION} no longer has a tag\n"
    assert last(session)["tag"] == ""


@pytest.mark.parametrize("words", [("tag", SESSION), ("tag", SESSION, "x", "--remove"), ("rename", SESSION, " ")])
def test_words_that_say_nothing_are_refused(turnlog: Turnlog, session: Path, words: tuple[str, ...]) -> None:
    before = session.read_bytes()
    assert turnlog(*words).status == 2
    assert session.read_bytes() == before


def test_an_unknown_session_is_answered_with_the_closest(turnlog: Turnlog, session: Path) -> None:
    done = turnlog("rename", "11111112", "x")
    assert done.status == 1
    assert f"closest matches: {SESSION}" in done.err


def test_the_demo_is_not_changed(turnlog: Turnlog, machine: Machine) -> None:
    done = turnlog("rename", "bee7dbd3", "x")
    assert done.status == 2
    assert "demo sessions can't be changed" in done.err


def test_an_open_session_is_renamed_with_a_note(turnlog: Turnlog, machine: Machine, session: Path) -> None:
    (machine.folder / "sessions").mkdir()
    (machine.folder / "sessions" / "1.json").write_text(json.dumps({"pid": os.getpid(), "sessionId": SESSION}))
    done = turnlog("rename", SESSION, "x")
    assert done.status == 0
    assert f"Note: it is open in Claude Code, process {os.getpid()}." in done.err


def test_nothing_in_a_title_acts_on_the_terminal(turnlog: Turnlog, session: Path) -> None:
    done = turnlog("rename", SESSION, HOSTILE)
    assert done.status == 2
    assert not harmful(done.out + done.err)
