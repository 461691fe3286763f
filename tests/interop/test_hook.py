"""The hook in the real client: every span arrives once, and the client never waits for a backend."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.interop.clients import NEWEST, OLD, client, list_missing_clients
from tests.interop.mock_anthropic import MockAnthropic
from tests.interop.resume import KEY, MODEL, environment, run, scratch_folder
from tests.trace.recorder import Recorder
from turnlog.trace.harvest import preview_spans
from turnlog.trace.outbox.outbox import Outbox
from turnlog.trace.spans.span import SessionSignals
from turnlog.trace.targets.target import TraceTarget
from turnlog.trace.wakes import count_wakes

pytestmark = pytest.mark.interop
VERSIONS = [
    pytest.param(
        version, marks=pytest.mark.skipif(bool(list_missing_clients((version,))), reason="this client is not installed")
    )
    for version in (NEWEST, OLD)
]


def _call(name: str, **given: str) -> dict[str, Any]:
    return {"content": [{"type": "tool_use", "name": name, "input": given}]}


SCENARIO: dict[str, Any] = {
    "conversations": [
        {"kind": "agent", "replies": [_call("Bash", command="echo found", description="look"), "It is there."]},
        {
            "kind": "main",
            "replies": [
                _call("Bash", command="echo hi", description="say hi"),
                _call("Task", description="look", prompt="look for it", subagent_type="general-purpose"),
                "Everything is done.",
            ],
        },
    ]
}
LAST = "This is the last word."
MORE = {
    "conversations": [{"kind": "main", "replies": [{"id": "msg_last", "content": [{"type": "text", "text": LAST}]}]}]
}


class Home:
    """A home with a client whose settings have the hook, and a backend."""

    def __init__(self, base: Path, recorder: Recorder) -> None:
        self.home, self.cwd = base / "home", base / "de mo"
        self.recorder = recorder
        self.data, self.config = base / "da ta", base / "config.toml"
        self.folder = self.data / "trace"
        for folder in (self.home / "tmp", self.home / ".claude", self.cwd):
            folder.mkdir(parents=True)
        known = {
            "hasCompletedOnboarding": True,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(self.cwd): {"hasTrustDialogAccepted": True}},
        }
        (self.home / ".claude.json").write_text(json.dumps(known))
        # Not by OTEL_* variables: the newest client keeps these from its hooks.
        self.config.write_text(f'[trace.targets.here]\nendpoint = "{recorder.url}"\ntimeout = 600\n')
        self.turnlog("hook", "install")

    def turnlog(self, *words: str) -> None:
        """Run turnlog as the owner of this home."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "CLAUDE_", "OTEL_"))}
        homes = {"HOME": str(self.home), "USERPROFILE": str(self.home)}
        environ = {**kept, **homes, "TURNLOG_HOME": str(self.data), "TURNLOG_CONFIG": str(self.config)}
        command = [sys.executable, "-m", "turnlog", *words]
        subprocess.run(command, env=environ, cwd=self.cwd, check=True, stdout=subprocess.DEVNULL, timeout=120)

    def ask(self, version: str, mock: MockAnthropic, prompt: str, *words: str) -> None:
        """Let the client answer a prompt."""
        tools = ["--allowedTools", "Bash(echo:*)", "Task", "Agent"]
        command = [str(client(version)), "-p", prompt, *words, "--model", MODEL, "--output-format", "json", *tools]
        ended = run(command, environment(self.home, mock.url), self.cwd, 120)
        assert ended.status == 0, ended.note

    @property
    def session(self) -> Path:
        (found,) = self.home.glob(".claude/projects/*/????????-*.jsonl")
        return found

    def settle(self) -> None:
        """Wait until all that the hook has left is put and delivered."""
        until(
            lambda: (
                (self.folder / "outbox.db").exists()
                and not count_wakes(self.folder).waiting
                and not self._count_pending_spans()
            )
        )

    def _count_pending_spans(self) -> int:
        with Outbox.open(self.folder / "outbox.db") as outbox:
            return sum(item.pending_spans for item in outbox.list_statuses())

    def list_expected_spans(self) -> list[str]:
        """The spans of the session when it is sent as a whole, to somebody who has none of them."""
        target = TraceTarget("whole", self.recorder.url, {})
        with Outbox.open(self.home / "outbox.db") as outbox:
            return sorted(
                span.id.hex() for span in preview_spans(self.session, outbox, target, SessionSignals(over=True))
            )


@pytest.fixture
def home(recorder: Recorder) -> Iterator[Home]:
    with scratch_folder() as base:
        yield Home(base, recorder)


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with Recorder() as found:
        yield found


@pytest.mark.parametrize("version", VERSIONS)
def test_every_span_of_a_session_arrives_once(home: Home, version: str) -> None:
    with MockAnthropic(SCENARIO) as mock:
        home.ask(version, mock, "do it")
    home.settle()
    with MockAnthropic(MORE) as mock:
        home.ask(version, mock, "one more thing", "--continue")
    home.settle()
    arrived = home.recorder.spans
    assert sorted(span["span"] for span in arrived) == home.list_expected_spans()
    names = {span["name"] for span in arrived}
    assert {"invoke_agent claude-code", "invoke_agent general-purpose", "execute_tool Bash"} <= names
    outputs = [str(span["attributes"].get("output.value")) for span in arrived]
    assert any("Everything is done." in text for text in outputs)
    assert any(LAST in text for text in outputs)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_backend_that_hangs_does_not_hold_up_the_client(home: Home, version: str) -> None:
    home.recorder.default = ("hang", 600)
    with MockAnthropic(SCENARIO) as mock:
        home.ask(version, mock, "do it")
    home.recorder.wait(requests=1, seconds=60)
    assert home.recorder.spans == [], "the client has ended, and nothing was answered yet"
    home.recorder.default = 200
    home.recorder.closing.set()  # lets go of what hangs
    home.settle()
    assert sorted({span["span"] for span in home.recorder.spans}) == home.list_expected_spans()
    assert home.recorder.changed_spans == []


def until(is_so: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.1)
