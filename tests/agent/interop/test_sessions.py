"""Sessions that go from this client to the real ones and back, with the same messages on every way.

The real clients run offline, each in a home of its own, against the scripted API on loopback.
"""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.talk import MODEL, STORIES, Line, Story, answer, build_thinking, cut_off, plain, rows, text, use
from tests.agent.test_record import ONCE, ROOT
from tests.agent.waits import HANG
from tests.interop.clients import NEWEST, OLD, client, list_missing_clients
from tests.interop.digest import difference, digests
from tests.interop.mock_anthropic import MockAnthropic
from tests.interop.normalise import NEXT
from tests.interop.resume import KEY, Resumed, environment, judge, kill, run, scratch_folder
from turnlog.agent.record.record import SessionRecord
from turnlog.agent.resume.choices import find_latest_session
from turnlog.agent.resume.resume import continue_in_fork, continue_in_place, load_resumable_session
from turnlog.agent.tools.call_result import CallResult
from turnlog.errors import Busy

pytestmark = pytest.mark.interop
VERSIONS = [
    pytest.param(
        version, marks=pytest.mark.skipif(bool(list_missing_clients((version,))), reason="this client is not installed")
    )
    for version in (NEWEST, OLD)
]
ESCAPE = re.compile(r"\x1b\[[0-9;?<>=]*[a-zA-Z]|\x1b\][^\x07]*\x07|\x1b[()][A-Z0-9]|\x1b.")
TOLD = "look at the shop"
SCENARIO: dict[str, Any] = {
    "conversations": [
        {"kind": "agent", "replies": [{"content": [use("toolu_in", "echo in")]}, "The helper has seen it."]},
        {
            "kind": "main",
            "replies": [
                {
                    "content": [
                        build_thinking("First I think."),
                        text("I look."),
                        use("toolu_s1", "echo one"),
                        use("toolu_s2", "echo two"),
                    ]
                },
                {"content": [use("toolu_s3", "echo three && exit 3")]},
                {
                    "content": [
                        {
                            "type": "tool_use",
                            "id": "toolu_s4",
                            "name": "Task",
                            "input": {"description": "look", "prompt": TOLD, "subagent_type": "general-purpose"},
                        }
                    ]
                },
                "Everything is done.",
                "And more of it.",
                "And even more.",
            ],
        },
    ]
}
"""Thinking, two calls at once, a call that fails or is denied, and a sub-agent."""


class Home:
    """A home in which both kinds of clients work on the same sessions."""

    def __init__(self, base: Path) -> None:
        self.base, self.home, self.cwd = base, base / "home", base / "demo"
        self.config = self.home / ".claude"
        for folder in (self.cwd, self.home / "tmp"):
            folder.mkdir(parents=True)
        settings = {
            "hasCompletedOnboarding": True,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(self.cwd): {"hasTrustDialogAccepted": True}},
        }
        (self.home / ".claude.json").write_text(json.dumps(settings))

    def new(self) -> SessionRecord:
        return SessionRecord.create_session(self.config, self.cwd)

    def ask(self, version: str, prompt: str, *words: str, scenario: Any = None, home: Path | None = None) -> Resumed:
        """Let a real client answer a prompt; what it sent."""
        tools = ["--allowedTools", "Bash(echo:*)", "Task", "Agent"]
        command = [str(client(version)), "-p", prompt, *words, "--model", MODEL, "--output-format", "json", *tools]
        with MockAnthropic(scenario) as mock:
            ended = run(command, environment(home or self.home, mock.url), self.cwd, 120)
            found = judge(mock.requests, ended)
        assert found.status in (0, None) if found.outcome == "sent" else ended.status == 0, ended.note
        return found

    def list_resumed_messages(self, version: str, session: str, *words: str) -> list[Line]:
        """What a client sends when it resumes a session; it works on a copy of the home."""
        home = self.base / f"copy-{version}-{session}"
        shutil.copytree(self.home, home)
        found = self.ask(version, NEXT, "--resume", session, *words, home=home)
        assert found.outcome == "sent"
        shutil.rmtree(home, ignore_errors=True)
        return found.messages


@pytest.fixture
def home() -> Iterator[Home]:
    with scratch_folder() as base:
        yield Home(base)


def ours(path: Path) -> list[Line]:
    return load_resumable_session(path).messages


def same(client_sent: list[Line], turnlog_sends: list[Line]) -> None:
    assert difference(digests(client_sent), digests(turnlog_sends)) is None


# -- from here to there


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("story", [pytest.param(story, id=name) for name, story in STORIES.items()])
def test_what_is_written_here_is_sent_there_as_it_would_be_here(home: Home, story: Story, version: str) -> None:
    record = home.new()
    story(record)
    same(home.list_resumed_messages(version, record.session_id), ours(record.path))


@pytest.mark.parametrize("version", VERSIONS)
def test_thinking_goes_there_with_its_signature(home: Home, version: str) -> None:
    record = home.new()
    STORIES["write_thinking"](record)
    sent = [block for message in home.list_resumed_messages(version, record.session_id) for block in message["content"]]
    kept = {block["signature"] for block in sent if isinstance(block, dict) and block["type"] == "thinking"}
    assert kept == {"c2lnbmVk", "b3RoZXI="}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("cut", [1, 40, 400])
def test_a_session_whose_last_line_is_torn_is_taken_up_there_and_here(home: Home, version: str, cut: int) -> None:
    record = home.new()
    STORIES["parallel"](record)
    record.write_prompt("One more " + "x" * 400)
    record.path.write_bytes(record.path.read_bytes()[:-cut])
    same(home.list_resumed_messages(version, record.session_id), ours(record.path))
    found = load_resumable_session(record.path)
    again = continue_in_place(found, home.cwd)
    again.write_prompt("Once again")
    again.write_answer(answer("Yes.", id="msg_9"))
    again.write_turn_end(5)
    same(home.list_resumed_messages(version, record.session_id), ours(record.path))
    assert ours(record.path)[-2:] == [
        {"role": "user", "content": [text("Once again")]},
        {"role": "assistant", "content": [text("Yes.")]},
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_branch_that_begins_here_is_where_they_go_on(home: Home, version: str) -> None:
    record = home.new()
    plain(record)
    first = next(row["uuid"] for row in rows(record.path) if row.get("subtype") == "turn_duration")
    branch = continue_in_place(load_resumable_session(record.path, first), home.cwd)
    branch.write_prompt("Another question")
    same(home.list_resumed_messages(version, record.session_id), ours(record.path))
    assert "Another question" in json.dumps(ours(record.path))
    assert "And what is in it?" not in json.dumps(ours(record.path))
    branch.write_answer(answer("Another answer.", id="msg_7"))
    branch.write_turn_end(5)
    same(home.list_resumed_messages(version, record.session_id), ours(record.path))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["parallel", "compaction", "cut_off", "write_unanswered_prompt"])
def test_what_was_cut_off_or_copied_here_is_the_same_there(home: Home, version: str, name: str) -> None:
    record = home.new()
    STORIES[name](record)
    found = load_resumable_session(record.path)
    for again in (continue_in_fork(found, home.config, home.cwd), continue_in_place(found, home.cwd)):
        again.write_prompt("Go on")
        again.write_answer(answer("I go on.", use("toolu_8"), id="msg_8"))
        again.write_result("toolu_8", CallResult("eight"))
        again.write_answer(answer("Done.", id="msg_9"))
        again.write_turn_end(5)
        same(home.list_resumed_messages(version, again.session_id), ours(again.path))
        assert len(ours(again.path)) == len(found.messages) + 4


@pytest.mark.parametrize("version", VERSIONS)
def test_a_fork_of_theirs_is_the_same_here(home: Home, version: str) -> None:
    record = home.new()
    STORIES["compaction"](record)
    before = ours(record.path)
    home.ask(version, "Go on elsewhere", "--resume", record.session_id, "--fork-session")
    (path,) = (found for found in record.path.parent.glob("*.jsonl") if found != record.path)
    same(ours(path)[: len(before)], before)
    assert "Go on elsewhere" in json.dumps(ours(path))
    assert ours(record.path) == before


@pytest.mark.parametrize("number", [3, 9, 14, 20])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_session_whose_writer_was_killed_is_taken_up_there(home: Home, version: str, number: int) -> None:
    words = [str(number), str(home.config), "parallel", "compaction"]
    done = subprocess.run([sys.executable, "-c", ONCE, *words], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    (path,) = home.config.glob("projects/*/*.jsonl")
    goal = SessionRecord.create_session(home.config, home.cwd, path.stem).path
    goal.parent.mkdir(parents=True)
    path.rename(goal)
    same(home.list_resumed_messages(version, goal.stem), ours(goal))


@pytest.mark.parametrize("version", VERSIONS)
def test_their_picker_shows_it(home: Home, version: str) -> None:
    pty = pytest.importorskip("pty")
    record = home.new()
    STORIES["parallel"](record)
    with MockAnthropic() as mock:
        master, slave = pty.openpty()
        environ = {**environment(home.home, mock.url), "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"}
        shown = Shown(master)
        with subprocess.Popen(
            [str(client(version)), "--resume"],
            env=environ,
            cwd=home.cwd,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        ) as process:
            os.close(slave)
            try:
                assert shown.until("Do three things", HANG)
            finally:
                kill(process)
        os.close(master)


class Shown:
    """What a client writes to its terminal."""

    def __init__(self, fd: int) -> None:
        self._fd, self._text = fd, ""

    def until(self, words: str, seconds: float) -> bool:
        """Read until some words were written; whether they were in time. Terminals have no need of blanks."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self._fd], [], [], 0.5)[0]:
                self._text += os.read(self._fd, 1 << 16).decode("utf-8", "replace")
            if "".join(words.split()) in "".join(ESCAPE.sub("", self._text).split()):
                return True
        return False


@pytest.mark.parametrize("version", VERSIONS)
def test_when_they_go_on_with_it_this_client_stops(home: Home, version: str) -> None:
    record = home.new()
    plain(record)
    home.ask(version, "I am here, too", "--continue")
    before = record.path.read_bytes()
    with pytest.raises(Busy, match="another process is continuing"):
        record.write_prompt("Am I alone?")
    assert record.path.read_bytes() == before
    again = continue_in_place(load_resumable_session(record.path), home.cwd)
    again.write_prompt("Now I am")
    assert "I am here, too" in json.dumps(ours(record.path))


# -- from there to here


def of_the_client(home: Home, version: str) -> Path:
    """A session that a real client has written, with everything in it."""
    home.ask(version, "Do it all", scenario=SCENARIO)
    return find_latest_session([home.config], home.cwd)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_they_write_is_sent_from_here_as_the_newest_would_send_it(home: Home, version: str) -> None:
    path = of_the_client(home, version)
    found = load_resumable_session(path)
    same(home.list_resumed_messages(NEWEST, path.stem), found.messages)
    said = json.dumps(found.messages)
    assert all(f"toolu_s{number}" in said for number in range(1, 5))
    assert [
        block["name"] for message in found.messages for block in message["content"] if block.get("id") == "toolu_s4"
    ] == ["Task"]
    assert (found.model, found.cwd) == (MODEL, home.cwd)
    assert "Everything is done." in said


@pytest.mark.parametrize("version", VERSIONS)
def test_a_session_goes_there_and_back_and_there_again(home: Home, version: str) -> None:
    path = of_the_client(home, version)
    record = continue_in_place(load_resumable_session(path), home.cwd)
    STORIES["parallel"](record)
    home.ask(
        version,
        "More of it",
        "--continue",
        scenario={"conversations": [{"kind": "main", "replies": ["There is more."]}]},
    )
    assert find_latest_session([home.config], home.cwd) == path
    again = continue_in_place(load_resumable_session(path), home.cwd)
    STORIES["errors"](again)
    same(home.list_resumed_messages(NEWEST, path.stem), ours(path))
    said = json.dumps(ours(path))
    for words in (
        "Do it all",
        "Everything is done.",
        "Do three things",
        "More of it",
        "There is more.",
        "Try it",
        "It does not work.",
    ):
        assert words in said


@pytest.mark.parametrize("version", VERSIONS)
def test_a_compaction_of_theirs_is_a_compaction_here(home: Home, version: str) -> None:
    record = home.new()
    plain(record)
    home.ask(version, "/compact", "--resume", record.session_id)
    home.ask(version, "What now?", "--resume", record.session_id)
    same(home.list_resumed_messages(NEWEST, record.session_id), ours(record.path))
    assert "Mock summary" in json.dumps(ours(record.path)[0])


@pytest.mark.parametrize("version", VERSIONS)
def test_a_call_that_was_cut_off_here_is_finished_there_and_the_reverse(home: Home, version: str) -> None:
    record = home.new()
    cut_off(record)
    home.ask(version, "Never mind", "--resume", record.session_id)
    same(home.list_resumed_messages(NEWEST, record.session_id), ours(record.path))
    assert load_resumable_session(record.path).open_calls == ()
