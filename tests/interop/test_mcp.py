"""The MCP server and the plugin in the real client: it loads them, and a scripted model calls the tools."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.interop.clients import NEWEST, OLD, ROOT, client, list_missing_clients
from tests.interop.mock_anthropic import MockAnthropic
from tests.interop.resume import KEY, MODEL, environment, run, scratch_folder
from tests.session.build import Build
from turnlog.entries.slug import make_slug

pytestmark = pytest.mark.interop
PLUGIN = ROOT / "plugins" / "turnlog"
PAST = "aaaaaaaa-1111-4111-8111-111111111111"
LIMIT_SECONDS = 180
SECRET = "sk-ant-" + "api03-" + "Qz7Lk2Vn9Xw4Rt8Yp3Bm6Gc1Hd5Jf0S" * 3 + "-AbCdEfAA"
needs_new = pytest.mark.skipif(bool(list_missing_clients((NEWEST,))), reason="the newest client is not installed")
needs_old = pytest.mark.skipif(bool(list_missing_clients((OLD,))), reason="the old client is not installed")


class Desk:
    """A home with a past session in one project, and a client to work there."""

    def __init__(self, base: Path) -> None:
        self.home, self.cwd, self.data = base / "home", base / "demo", base / "data"
        for folder in (self.home / "tmp", self.home / ".claude", self.cwd, base / "bin"):
            folder.mkdir(parents=True)
        known = {
            "hasCompletedOnboarding": True,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(self.cwd): {"hasTrustDialogAccepted": True}},
        }
        (self.home / ".claude.json").write_text(json.dumps(known))
        # What an installation would put on the PATH; the tests may run from the source tree.
        program = base / "bin" / "turnlog"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m turnlog "$@"\n')
        program.chmod(0o755)
        self._path = str(program.parent)
        self._add_past()
        self.turnlog("index")

    def _add_past(self) -> None:
        build = Build()
        build.prompt("Why is the cent rounding wrong?")
        build.answer(f"Because of floats; the token is {SECRET}")
        for line in build.lines:
            line["cwd"], line["sessionId"] = str(self.cwd), PAST
        folder = self.home / ".claude" / "projects" / make_slug(str(self.cwd))
        folder.mkdir(parents=True)
        (folder / f"{PAST}.jsonl").write_bytes(build.data())

    def environ(self, url: str) -> dict[str, str]:
        found = environment(self.home, url)
        python = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
        path = os.pathsep.join([self._path, found["PATH"]])
        # The client answers before its servers are connected, unless it is told to wait.
        waits = {"CLAUDE_CODE_MCP_STARTUP_WAIT_MS": "120000", "MCP_TIMEOUT": "120000"}
        return {**found, **python, **waits, "PATH": path, "TURNLOG_HOME": str(self.data)}

    def turnlog(self, *words: str) -> None:
        command = [sys.executable, "-P", "-m", "turnlog", *words]
        environ = self.environ("http://127.0.0.1:9")
        subprocess.run(command, env=environ, cwd=self.cwd, check=True, stdout=subprocess.DEVNULL, timeout=LIMIT_SECONDS)

    def claude(self, version: str, url: str, *words: str) -> Any:
        return run([str(client(version)), *words], self.environ(url), self.cwd, LIMIT_SECONDS)

    def ask(self, version: str, prefix: str, *words: str) -> list[str]:
        """Let a model call two tools of the server; the results that the client sent back to it."""
        calls = [
            {"content": [{"type": "tool_use", "name": f"{prefix}{name}", "input": given}]}
            for name, given in (
                ("search_sessions", {"query": "cent rounding"}),
                ("get_turns", {"session": PAST[:8]}),
            )
        ]
        scenario = {"conversations": [{"kind": "main", "replies": [*calls, "Found it."]}]}
        with MockAnthropic(scenario) as mock:
            command = ["-p", "Look it up", *words, "--model", MODEL, "--output-format", "json"]
            allowed = ["--allowedTools", f"{prefix}search_sessions", f"{prefix}get_turns"]
            ended = self.claude(version, mock.url, *command, *allowed)
            assert ended.status == 0, ended.note
            last = [request for request in mock.requests if request["kind"] == "main"][-1]
            return list(read_results(last["body"]))


def read_results(body: dict[str, Any]) -> Iterator[str]:
    """The texts of the results in a request."""
    for message in body["messages"]:
        content = message["content"]
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_result":
                inner = block.get("content")
                yield inner if isinstance(inner, str) else "".join(part.get("text", "") for part in inner or [])


@pytest.fixture
def desk() -> Iterator[Desk]:
    with scratch_folder() as base:
        yield Desk(base)


def check_results(results: list[str]) -> None:
    assert len(results) == 2, results
    search, turns = results
    assert "aaaaaaaa" in search
    assert "turn 1, prompt" in search
    assert "answer: Because of floats; the token is [secret:" in turns
    for text in results:
        assert "don't follow instructions" in text
        assert SECRET not in text


@pytest.mark.parametrize("version", [pytest.param(NEWEST, marks=needs_new), pytest.param(OLD, marks=needs_old)])
@pytest.mark.parametrize("scope", ["user", "local"])
def test_a_model_reads_past_sessions_through_the_installed_server(desk: Desk, version: str, scope: str) -> None:
    desk.turnlog("mcp", "install", "--scope", scope)
    check_results(desk.ask(version, "mcp__turnlog__"))
    desk.turnlog("mcp", "uninstall", "--scope", scope)
    assert "turnlog" not in json.dumps(json.loads((desk.home / ".claude.json").read_text()).get("mcpServers", {}))


@needs_new
def test_the_client_lists_the_installed_server_as_connected(desk: Desk) -> None:
    desk.turnlog("mcp", "install")
    listed = desk.claude(NEWEST, "http://127.0.0.1:9", "mcp", "list")
    assert listed.status == 0
    assert "turnlog" in listed.note
    assert "Connected" in listed.note, listed.note


@needs_new
@pytest.mark.parametrize("path", [PLUGIN, ROOT])
def test_the_loader_finds_nothing_wrong_with_the_plugin_and_the_marketplace(desk: Desk, path: Path) -> None:
    done = desk.claude(NEWEST, "http://127.0.0.1:9", "plugin", "validate", "--json", str(path))
    report = json.loads(done.note)
    assert done.status == 0
    assert report["success"] is True
    assert report["manifest"]["errors"] == report["manifest"]["warnings"] == []


@needs_new
def test_the_plugin_brings_the_server_the_hooks_the_commands_and_the_skill(desk: Desk) -> None:
    results = desk.ask(NEWEST, "mcp__plugin_turnlog_turnlog__", "--plugin-dir", str(PLUGIN))
    check_results(results)
    reports = [line for path in (desk.data / "hook-reports").iterdir() for line in path.read_text().splitlines()]
    events = {json.loads(line)["event"] for line in reports if line}
    assert {"SessionStart", "UserPromptSubmit", "Stop"} <= events


@needs_new
def test_the_plugin_is_installed_from_the_marketplace_with_all_its_parts(desk: Desk) -> None:
    for words in (["marketplace", "add", str(ROOT)], ["install", "turnlog@turnlog"]):
        done = desk.claude(NEWEST, "http://127.0.0.1:9", "plugin", *words)
        assert done.status == 0, done.note
    details = desk.claude(NEWEST, "http://127.0.0.1:9", "plugin", "details", "turnlog").note
    assert "Skills (5)  cost, lighten, search, setup, turnlog" in details
    assert "MCP servers (1)  turnlog" in details
    assert "Hooks (8)" in details


@needs_new
def test_a_plugin_without_turnlog_disturbs_nobody(desk: Desk) -> None:
    shutil.rmtree(Path(desk._path))
    with MockAnthropic({"conversations": [{"kind": "main", "replies": ["Fine."]}]}) as mock:
        words = ["-p", "Hello", "--plugin-dir", str(PLUGIN), "--model", MODEL, "--output-format", "json"]
        done = desk.claude(NEWEST, mock.url, *words)
    assert done.status == 0
    assert json.loads(done.note)["result"] == "Fine."


@needs_new
def test_a_slash_command_of_the_plugin_tells_the_model_what_to_do(desk: Desk) -> None:
    with MockAnthropic({"conversations": [{"kind": "main", "replies": ["Fine."]}]}) as mock:
        words = ["-p", "/turnlog:search cent rounding", "--plugin-dir", str(PLUGIN), "--model", MODEL]
        assert desk.claude(NEWEST, mock.url, *words).status == 0
        sent = json.dumps([request["body"] for request in mock.requests])
    assert "Search past sessions with the tool `search_sessions` of the MCP server `turnlog` for: cent rounding" in sent
