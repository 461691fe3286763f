"""Options with which the SDKs start a client: each has its effect."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.agent.desk import Desk, call, reply, script
from tests.agent.stream import control, fed, user
from tests.interop.mock_anthropic import MockAnthropic

Json = dict[str, Any]
MakeDesk = Callable[..., Desk]


def ask(tmp_path: Path, *words: str) -> Json:
    """The request of a turn, with its betas."""
    with MockAnthropic(script("One.")) as mock:
        here = Desk(tmp_path, mock)
        done = here.turnlog("-p", "go", "--output-format", "json", *words)
        assert json.loads(done.stdout)["result"] == "One.", done.stderr
        (request,) = [one for one in mock.requests if one["path"].startswith("/v1/messages")]
    return {**request["body"], "betas": request["headers"].get("anthropic-beta", "").split(",")}


@pytest.mark.parametrize(
    ("words", "thinking"),
    [
        (["--thinking", "disabled"], {"type": "disabled"}),
        (["--thinking=adaptive"], {"type": "adaptive", "display": "omitted"}),
        (["--thinking=enabled", "--thinking-display=summarized"], {"type": "adaptive", "display": "summarized"}),
        (["--thinking-display", "highlights"], {"type": "adaptive", "display": "omitted"}),
    ],
)
def test_thinking_is_turned_on_and_off_and_shown(tmp_path: Path, words: list[str], thinking: Json) -> None:
    assert ask(tmp_path, "--model", "claude-opus-4-6", *words)["thinking"] == thinking


def test_the_model_is_told_its_budget(tmp_path: Path) -> None:
    sent = ask(tmp_path, "--model", "claude-opus-5-5", "--task-budget", "20000", "--betas", "a-1,b-2")
    assert sent["output_config"] == {"effort": "medium", "task_budget": {"type": "tokens", "total": 20000}}
    assert {"task-budgets-2026-03-13", "a-1", "b-2"} <= set(sent["betas"])


HOOKS = {
    event: [{"hooks": [{"type": "command", "command": "echo '{}'"}]}]
    for event in ("SessionStart", "PreToolUse", "Stop")
}
TOUCH = call("Bash", command="touch made", description="Make")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[MakeDesk]:
    with ExitStack() as servers:
        yield lambda *replies: Desk(tmp_path, servers.enter_context(MockAnthropic(script(*replies))))


@pytest.mark.parametrize(
    ("words", "events"), [([], ["SessionStart"]), (["--include-hook-events"], ["SessionStart", "PreToolUse", "Stop"])]
)
def test_hooks_are_printed_as_they_start_and_end(desk: MakeDesk, words: list[str], events: list[str]) -> None:
    lines = fed(desk(reply(TOUCH), "One."), user("go"), more=("--settings", json.dumps({"hooks": HOOKS}), *words))
    told = [(line["hook_event"], line["subtype"]) for line in lines if "hook_event" in line]
    assert told == [(event, kind) for event in events for kind in ("hook_started", "hook_response")]
    ids = [line["hook_id"] for line in lines if "hook_id" in line]
    assert len(set(ids)) == len(events)


def test_every_line_of_the_session_is_mirrored(desk: MakeDesk) -> None:
    here = desk(reply(call("Task", description="d", prompt="look", subagent_type="Explore")), "Seen.", "One.")
    lines = fed(here, user("go"), more=("--session-mirror",))
    copies: dict[str, list[Json]] = {}
    for line in lines:
        if line["type"] == "transcript_mirror":
            copies.setdefault(line["filePath"], []).extend(line["entries"])
    files = {str(path): path.read_text() for path in here.config.glob("projects/**/*.jsonl")}
    assert len(files) == 2
    assert copies == {path: [json.loads(line) for line in text.splitlines()] for path, text in files.items()}


def test_a_session_that_is_not_kept_leaves_nothing(desk: MakeDesk) -> None:
    here = desk("One.", "Two.", "Three.")
    fed(here, user("go"), user("on"), more=("--no-session-persistence",))
    assert "go" in json.dumps(here.requests[1])
    assert not list(here.config.glob("projects/**/*.jsonl"))
    assert not list(Path(tempfile.gettempdir()).glob(f"turnlog-*/projects/*{tmp_name(here)}*"))


def tmp_name(here: Desk) -> str:
    return here.base.name.replace("_", "-")


def test_a_resumed_session_that_is_not_kept_stays_as_it_was(desk: MakeDesk) -> None:
    here = desk("One.", "Two.")
    name = fed(here, user("go"))[0]["session_id"]
    (path,) = here.config.glob("projects/*/*.jsonl")
    before = path.read_bytes()
    told = fed(here, user("on"), more=("--no-session-persistence", f"--resume={name}"))
    assert told[0]["session_id"] == name
    assert "One." in json.dumps(here.requests[1])
    assert path.read_bytes() == before


def test_the_log_names_what_happens_but_not_what_is_said(desk: MakeDesk, tmp_path: Path) -> None:
    fed(desk(reply(TOUCH), "SECRET-ANSWER"), user("SECRET-PROMPT"), more=("--debug-file", str(tmp_path / "log")))
    text = (tmp_path / "log").read_text()
    assert "of Bash denied" in text
    assert "turn ended: finished" in text
    assert "SECRET" not in text
    assert "touch" not in text


def test_nobody_is_asked_for_permission(desk: MakeDesk) -> None:
    here = desk(reply(TOUCH), "One.")
    lines = fed(here, user("go"), more=("--permission-prompt-tool", "stdio", "--permission-prompts", "none"))
    assert lines[-1]["permission_denials"][0]["tool_name"] == "Bash"
    assert not [line for line in lines if line["type"] == "control_request"]


@pytest.mark.parametrize("words", [[], ["--allow-dangerously-skip-permissions"]])
def test_permissions_are_bypassed_only_if_the_start_allowed_it(desk: MakeDesk, words: list[str]) -> None:
    request = control("a", subtype="set_permission_mode", mode="bypassPermissions")
    (line,) = [line for line in fed(desk(), request, more=tuple(words)) if line["type"] == "control_response"]
    expected = ("success", None) if words else ("error", "bypass_not_launched")
    assert (line["response"]["subtype"], line["response"].get("error_code")) == expected


@pytest.mark.parametrize("behavior", ["allow", "deny", "nonsense"])
def test_a_tool_of_a_server_decides_about_permission(desk: MakeDesk, behavior: str) -> None:
    here = desk(reply(TOUCH), "One.")
    (here.base / "server.py").write_text(DECIDER.replace("BEHAVIOR", behavior))
    server = {"command": sys.executable, "args": [str(here.base / "server.py")]}
    words = (
        "--permission-prompt-tool",
        "mcp__judge__decide",
        "--mcp-config",
        json.dumps({"mcpServers": {"judge": server}}),
    )
    fed(here, user("go"), more=words)
    assert (here.cwd / "made").exists() is (behavior == "allow")
    (block,) = [one for one in here.requests[1]["messages"][-1]["content"] if one["type"] == "tool_result"]
    assert ("not today" in block["content"]) is (behavior == "deny")


DECIDER = """
import json
from mcp.server.mcpserver import MCPServer

server = MCPServer("judge")


@server.tool()
def decide(tool_name: str, input: dict, tool_use_id: str) -> str:
    if "BEHAVIOR" == "nonsense":
        return "perhaps"
    return json.dumps({"behavior": "BEHAVIOR", "message": "not today", "updatedInput": input})


server.run("stdio")
"""
