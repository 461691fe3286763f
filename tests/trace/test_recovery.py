"""Sessions whose end was never sent are found, and those that somebody still writes are left alone."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.session.build import Build, encode_lines
from turnlog.trace.harvest import harvest_session
from turnlog.trace.outbox.outbox import Outbox
from turnlog.trace.recovery import OVER_AFTER_SECONDS, find_unsent_sessions
from turnlog.trace.spans.span import SessionSignals
from turnlog.trace.targets.target import TraceTarget

CURRENT, OTHER, THIRD = (f"{number}0000000-0000-4000-8000-000000000000" for number in "123")
TARGET = TraceTarget(name="t", url="http://127.0.0.1:9/v1/traces")
SECOND = TraceTarget(name="u", url="http://127.0.0.1:10/v1/traces")
OVER = SessionSignals(over=True)
LONG_AGO = time.time() - 2 * OVER_AFTER_SECONDS


class Place:
    """A config folder with one project, and an outbox."""

    def __init__(self, folder: Path, outbox: Outbox) -> None:
        self.config = folder / "claude"
        self.project = self.config / "projects" / "-home-dana"
        self.outbox = outbox
        self.project.mkdir(parents=True)
        self.current = self.add(CURRENT)

    def add(
        self,
        name: str,
        *,
        named: str | None = None,
        version: str = "2.1.325",
        mtime: float = LONG_AGO,
        answers: int = 1,
    ) -> Path:
        build = Build(version)
        for number in range(answers):
            build.prompt(f"{name} {number}", uuid=f"{name}-{number}")
            build.answer("Done.", id=f"{name}-m{number}", uuid=f"{name}-a{number}")
        path = self.project / f"{name}.jsonl"
        path.write_bytes(encode_lines([{**line, "sessionId": named or name} for line in build.lines]))
        os.utime(path, (mtime, mtime))
        return path

    def unsent(self, *targets: TraceTarget, since: float | None = 0) -> list[tuple[str, bool]]:
        found = find_unsent_sessions(self.current, self.outbox, targets or (TARGET,), self.config, since)
        return [(item.path.stem, item.over) for item in found]

    def send(self, path: Path, told: SessionSignals = OVER, target: TraceTarget = TARGET) -> None:
        harvest_session(path, self.outbox, target, told)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with Outbox.open(tmp_path / "trace" / "outbox.db") as outbox:
        yield Place(tmp_path, outbox)


def test_a_session_that_nobody_told_of_is_found_if_it_is_newer_than_the_hook(place: Place) -> None:
    place.add(OTHER)
    assert place.unsent(since=LONG_AGO - 1) == [(OTHER, True)]
    assert place.unsent(since=LONG_AGO + 1) == []
    assert place.unsent(since=None) == []


def test_a_session_that_was_sent_to_its_end_is_not_found_again(place: Place) -> None:
    place.send(place.add(OTHER))
    assert place.unsent() == []


def test_a_session_that_grew_since_is_found_however_old_the_hook_is(place: Place) -> None:
    place.send(place.add(OTHER))
    place.add(OTHER, answers=2)
    assert place.unsent(since=None) == [(OTHER, True)]


def test_a_session_whose_last_turn_waited_is_found(place: Place) -> None:
    place.send(place.add(OTHER, answers=2), SessionSignals())
    assert place.unsent(since=None) == [(OTHER, True)]


def test_each_target_lacks_what_it_was_not_sent(place: Place) -> None:
    path = place.add(OTHER)
    place.send(path)
    (found,) = find_unsent_sessions(place.current, place.outbox, [TARGET, SECOND], place.config, 0)
    assert found.targets == (SECOND,)


def test_a_session_that_is_over_and_has_no_more_to_send_is_not_read_again(place: Place) -> None:
    path = place.add(OTHER)
    with path.open("ab") as file:
        file.write(b'{"type":"user","uu')
    os.utime(path, (LONG_AGO, LONG_AGO))
    place.send(path, SessionSignals(at_rest=True))
    assert place.unsent() == [(OTHER, True)], "its size still says that there is more"
    place.send(path)
    assert place.unsent() == []
    os.utime(path, (LONG_AGO + 9, LONG_AGO + 9))
    assert place.unsent() == [(OTHER, True)], "it was written since"


def test_what_may_still_be_written_is_not_remembered_as_read(place: Place) -> None:
    path = place.add(OTHER, version="2.1.29", mtime=time.time())
    place.send(path, SessionSignals())
    assert place.unsent() == [(OTHER, False)]


def test_what_is_sent_only_when_a_session_is_over_is_not_forgotten_if_its_client_was_killed(place: Place) -> None:
    path = place.add(OTHER)
    build = Build()
    build.prompt("Sum it up.", isSidechain=True)
    build.answer("It was about birds.", isSidechain=True)
    side = path.with_suffix("") / "subagents" / "agent-acompact-1.jsonl"
    side.parent.mkdir(parents=True)
    side.write_bytes(build.data())
    place.send(path, SessionSignals(at_rest=True))
    assert place.unsent() == [(OTHER, True)], "all of its own file is settled"
    place.send(path)
    assert place.unsent() == []


def test_a_session_that_is_settled_and_may_still_be_written_is_not_read_again(place: Place) -> None:
    path = place.add(OTHER, version="2.1.29", mtime=time.time())
    place.send(path, SessionSignals(at_rest=True))
    assert place.unsent() == []


def test_a_session_of_a_client_that_says_what_it_has_open_is_over_when_it_does_not(place: Place) -> None:
    place.add(OTHER, mtime=time.time())
    place.add(THIRD, mtime=time.time(), version="2.1.45")
    assert place.unsent() == [(OTHER, True), (THIRD, False)]


def test_a_session_that_a_running_client_has_open_is_left_alone(place: Place) -> None:
    place.add(OTHER)
    place.add(THIRD)
    register(place.config, os.getpid(), OTHER)
    assert place.unsent() == [(THIRD, True)]


def test_the_session_that_another_came_from_comes_first(place: Place) -> None:
    place.add(OTHER, mtime=LONG_AGO - 9)
    place.add(THIRD, mtime=time.time() - 30, version="2.1.45")
    place.current = place.add(CURRENT, named=THIRD)
    assert place.unsent() == [(THIRD, True), (OTHER, True)]


def test_a_copy_of_a_session_that_is_being_written_does_not_end_it(place: Place) -> None:
    place.add(THIRD, mtime=time.time(), version="2.1.45")
    place.current = place.add(CURRENT, named=THIRD)
    assert place.unsent() == [(THIRD, False)]


@pytest.mark.parametrize("named", ["../../../etc/passwd", "x", "\udcff", ""])
def test_a_file_that_names_no_session_leads_nowhere(place: Place, named: str) -> None:
    place.current = place.add(CURRENT, named=named)
    assert place.unsent() == []


def test_a_folder_that_is_gone_has_no_sessions(place: Place, tmp_path: Path) -> None:
    assert find_unsent_sessions(tmp_path / "gone" / f"{CURRENT}.jsonl", place.outbox, [TARGET], tmp_path, 0) == []


def test_a_session_of_which_only_sub_agents_are_left_is_found_until_it_was_sent(place: Place) -> None:
    agent = place.project / OTHER / "subagents" / "agent-a1.jsonl"
    agent.parent.mkdir(parents=True)
    build = Build()
    build.prompt("look", isSidechain=True)
    build.answer("looked", isSidechain=True)
    agent.write_bytes(build.data())
    assert place.unsent() == [(OTHER, False)]  # somebody may still write it
    os.utime(agent, (LONG_AGO, LONG_AGO))
    assert place.unsent() == [(OTHER, True)]
    place.send(place.project / f"{OTHER}.jsonl")
    assert place.unsent() == []


def register(config: Path, pid: int, session: str) -> None:
    """Say that a client has a session open, as newer clients do."""
    said: dict[str, Any] = {"pid": pid, "sessionId": session}
    (config / "sessions").mkdir(exist_ok=True)
    (config / "sessions" / f"{pid}.json").write_text(json.dumps(said))
