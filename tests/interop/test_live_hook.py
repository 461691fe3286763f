"""The hook for live views in the real client: it reports what happens, and nothing of it enters the conversation."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.interop.clients import NEWEST, client, list_missing_clients
from tests.interop.mock_anthropic import MockAnthropic
from tests.interop.resume import KEY, MODEL, UUID, environment, scratch_folder
from turnlog.live.board import Board
from turnlog.live.hook_reports import HookReports

pytestmark = [pytest.mark.interop, pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")]
VERSIONS = [
    pytest.param(
        version, marks=pytest.mark.skipif(bool(list_missing_clients((version,))), reason="this client is not installed")
    )
    for version in (NEWEST, "2.1.45", "2.0.50")
]
MAX_SECONDS = 120
_CHANGING = re.compile(rf"{UUID.pattern}|cch=[0-9a-f]+|cc_version=[0-9a-f.]+", re.IGNORECASE)
PROMPT = "make a file"
COMMAND = "touch made.txt; sleep 2"
SCENARIO: dict[str, Any] = {
    "conversations": [
        {
            "kind": "main",
            "match": PROMPT,
            "replies": [
                {"content": [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": COMMAND}}]},
                "The file is there.",
                "OK.",
            ],
        }
    ]
}


class Desk:
    """A home with a real client in a terminal; its settings have the hook, or not."""

    def __init__(self, base: Path) -> None:
        self.base, self.home, self.cwd, self.data = base, base / "home", base / "de mo", base / "da ta"
        for folder in (self.home / "tmp", self.home / ".claude", self.cwd):
            folder.mkdir(parents=True)
        known = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(self.cwd): {"hasTrustDialogAccepted": True}},
        }
        (self.home / ".claude.json").write_text(json.dumps(known))
        self._tmux = ["tmux", "-S", str(base / "tmux")]
        self.board = Board([self.home / ".claude"], reports=HookReports(self.data))

    def install(self) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "CLAUDE_"))}
        environ = {**kept, "HOME": str(self.home), "TURNLOG_HOME": str(self.data)}
        command = [sys.executable, "-m", "turnlog", "hook", "install", "--live"]
        subprocess.run(command, env=environ, cwd=self.cwd, check=True, stdout=subprocess.DEVNULL, timeout=120)

    @contextmanager
    def run_client(self, version: str, url: str) -> Iterator[None]:
        env = {**environment(self.home, url), "TERM": "xterm-256color", "PWD": str(self.cwd)}
        words = ["env", "-i", *(f"{name}={value}" for name, value in env.items()), str(client(version))]
        words += ["--model", MODEL, "--permission-mode", "default", PROMPT]
        size = ["-x", "150", "-y", "45"]
        self.do("-f", "/dev/null", "new-session", "-d", *size, "-c", str(self.cwd), shlex.join(words))
        try:
            yield
        finally:
            subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False)

    def do(self, *words: str) -> str:
        return subprocess.run([*self._tmux, *words], capture_output=True, text=True, check=True).stdout

    def read_screen(self) -> str:
        return self.do("capture-pane", "-p")

    def wait(self, is_so: Callable[[], object]) -> None:
        end = time.monotonic() + MAX_SECONDS
        while not is_so():
            assert time.monotonic() < end, self.read_screen()
            time.sleep(0.1)

    def work(self, version: str, mock: MockAnthropic) -> None:
        """Let the client do something that needs permission, allow it, and exit."""
        with self.run_client(version, mock.url):
            self.wait(lambda: "1. Yes" in self.read_screen())
            self.look("permission")
            self.do("send-keys", "Enter")
            self.wait(lambda: "The file is there." in self.read_screen())
            self.look("finished")
            self.wait(self.exit)

    def exit(self) -> bool:
        """Press Ctrl-C twice, which ends the client, but not more often, which ends its hooks; whether it has ended."""
        for _ in range(2):
            subprocess.run([*self._tmux, "send-keys", "C-c"], capture_output=True, check=False)
            time.sleep(0.3)
        end = time.monotonic() + 10
        while self.is_running() and time.monotonic() < end:
            time.sleep(0.1)
        return not self.is_running()

    def is_running(self) -> bool:
        return subprocess.run([*self._tmux, "list-panes"], capture_output=True, check=False).returncode == 0

    def look(self, kind: str) -> None:
        """Wait until the board is sure what the client is doing, if the hook reports it."""
        if self.data.exists():
            self.wait(lambda: self.find_state() == (kind, "sure"))

    def find_state(self) -> tuple[str, str] | None:
        self.board.poll()
        states = [(row.state.kind, row.state.confidence) for row in self.board.rows.values()]
        return states[0] if len(states) == 1 else None


def work(base: Path, version: str, *, is_hooked: bool) -> tuple[Desk, list[dict[str, Any]]]:
    """A session with or without the hook, and the requests that the client sent for it."""
    base.mkdir()
    desk = Desk(base)
    if is_hooked:
        desk.install()
    with MockAnthropic(SCENARIO) as mock:
        desk.work(version, mock)
        return desk, [request["body"] for request in mock.requests if request["kind"] == "main"]


def to_plain_text(bodies: list[dict[str, Any]]) -> list[str]:
    """The conversations in requests, without what differs from run to run."""
    conversations = [[body.get(name) for name in ("system", "tools", "messages")] for body in bodies]
    return [_CHANGING.sub("", json.dumps(conversation)) for conversation in conversations]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_hook_reports_a_permission_request_and_the_end_of_a_turn_and_the_conversation_stays_the_same(
    version: str,
) -> None:
    with scratch_folder() as base:
        _, expected = work(base / "desk", version, is_hooked=False)
        (base / "desk").rename(base / "plain")  # requests contain the path, so it has to be the same
        hooked, sent = work(base / "desk", version, is_hooked=True)
        assert to_plain_text(sent) == to_plain_text(expected)
        (session,) = hooked.home.glob(".claude/projects/*/????????-*.jsonl")
        reports = [report for report in HookReports(hooked.data).poll() if report.event != "SubagentStop"]
        events = [report.event for report in reports if report.event != "Notification"]
        assert events == ["SessionStart", "UserPromptSubmit", "PermissionRequest", "Stop", "SessionEnd"]
        assert {report.session_id for report in reports} == {session.stem}
        assert [report.tool_name for report in reports if report.event == "PermissionRequest"] == ["Bash"]
        written = b"".join(path.read_bytes() for path in (hooked.data / "hook-reports").iterdir())
        assert PROMPT.encode() not in written
        assert b"touch" not in written
