"""What a program demands for the tools of MCP servers: it can make turnlog ask or deny, and never allow."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.agent.desk import Desk, call, reply, script
from tests.agent.stream import Talk, control, user
from tests.agent.test_mcp_servers import SERVER, describe

Json = dict[str, Any]
MakeDesk = Callable[[Json], Desk]
ADD = reply(call("mcp__demo__add", a=1, b=2))
DOUBLE = reply(call("mcp__calc__double", n=4))
BYPASS = ("--permission-mode", "bypassPermissions", "--permission-prompt-tool", "stdio")


def send(talk: Talk, subtype: str, **fields: Any) -> Json:
    talk.say(control("r", subtype=subtype, **fields))
    return dict(talk.until("control_response")["response"])


def run_turn(talk: Talk, *, answers_calls: bool = True) -> list[str]:
    """Run a turn, answer as a server and allow every call; return the tools about which turnlog asked."""
    talk.say(user("go"))
    asked_about: list[str] = []
    while True:
        line = _read_next(talk)
        if line["type"] == "result":
            return asked_about
        if line["type"] != "control_request":
            continue
        request = line["request"]
        if request["subtype"] == "can_use_tool":
            asked_about.append(request["tool_name"])
            talk.answer(line, behavior="allow", updatedInput=request["input"])
        elif request["message"]["method"] != "tools/call" or answers_calls:
            talk.answer(line, mcp_response=_answer(request["message"]))


def _read_next(talk: Talk) -> Json:
    assert talk.process.stdout is not None
    talk.told.append(json.loads(talk.process.stdout.readline()))
    return talk.told[-1]


def _answer(message: Json) -> Json:
    results: Json = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "c"}},
        "tools/list": {"tools": [{"name": "double", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "8"}]},
    }
    return {"jsonrpc": "2.0", "id": message.get("id"), "result": results.get(message["method"], {})}


def results(here: Desk) -> list[Json]:
    blocks = [block for message in here.requests[-1]["messages"] for block in message["content"]]
    return [block for block in blocks if isinstance(block, dict) and block["type"] == "tool_result"]


# -- the mode


def test_a_mode_override_makes_a_session_that_asks_nothing_ask_about_one_server(desk: MakeDesk) -> None:
    here = desk(script(ADD, "1", ADD, "2", ADD, "3"))
    talk = Talk(here, *BYPASS)
    warned = send(talk, "set_mcp_permission_mode_override", serverName="demo", mode="auto")["response"]["warning"]
    assert "not yet known" in warned
    send(talk, "mcp_set_servers", servers=describe(here)["mcpServers"])
    assert run_turn(talk) == ["mcp__demo__add"]
    assert send(talk, "set_mcp_permission_mode_override", serverName="demo", mode=None)["response"] == {}
    assert run_turn(talk) == []
    assert send(talk, "set_mcp_permission_mode_override", serverName="demo", mode="default")["response"] == {}
    assert run_turn(talk) == ["mcp__demo__add"]
    assert "known" in send(talk, "set_mcp_permission_mode_override", serverName="x", mode=None)["response"]["warning"]
    assert talk.end() == 0


def test_a_mode_override_concerns_sub_agents_too_but_no_other_server(desk: MakeDesk) -> None:
    task = call("Task", description="d", prompt="look", run_in_background=False)
    scenario = script(reply(task), "1")
    scenario["conversations"].insert(
        0, {"kind": "agent", "replies": [ADD, reply(call("mcp__demo2__add", a=1, b=2)), "R"]}
    )
    here = desk(scenario)
    talk = Talk(here, *BYPASS)
    send(talk, "set_mcp_permission_mode_override", serverName="demo", mode="default")
    server = describe(here)["mcpServers"]["demo"]
    send(talk, "mcp_set_servers", servers={"demo": server, "demo2": server})
    assert run_turn(talk) == ["mcp__demo__add"]
    assert talk.end() == 0


@pytest.mark.parametrize(
    "fields",
    [{"serverName": "demo", "mode": "bypassPermissions"}, {"serverName": "demo", "mode": "acceptEdits"},
     {"serverName": "demo"}, {"mode": "default"}, {"serverName": "demo", "mode": []}],
)  # fmt: skip
def test_a_mode_override_never_widens(desk: MakeDesk, fields: Json) -> None:
    talk = Talk(desk(script("1")))
    assert send(talk, "set_mcp_permission_mode_override", **fields)["subtype"] == "error"
    assert talk.end() == 0


# -- policies


@pytest.mark.parametrize("mode", ["default", "bypassPermissions"])
def test_a_policy_asks_whatever_allows_the_tool(desk: MakeDesk, mode: str) -> None:
    here = desk(script(DOUBLE, "1", DOUBLE, "2"))
    words = ("--permission-mode", mode, "--permission-prompt-tool", "stdio", "--allowedTools", "mcp__calc__double")
    talk = Talk(here, *words)
    policies = [{"name": "double", "permission_policy": "always_ask"}, {"permission_policy": "always_deny"}]
    configs = {"calc": {"tools": policies}, "other": {"tools": 3}}
    send(talk, "initialize", sdkMcpServers=["calc"], sdkMcpServerConfigs=configs)
    assert run_turn(talk) == ["mcp__calc__double"]
    send(talk, "initialize", sdkMcpServers=["calc"], sdkMcpServerConfigs={"calc": {"tools": []}})  # removes no rule
    assert run_turn(talk) == ["mcp__calc__double"]
    assert [one["content"][0]["text"] for one in results(here)] == ["8", "8"]
    assert talk.end() == 0


def test_a_policy_denies_and_none_allows(desk: MakeDesk) -> None:
    here = desk(script(DOUBLE, "1"))
    talk = Talk(here, *BYPASS)
    configs = {"calc": {"tools": [{"name": "double", "permission_policy": "always_deny"}]}}
    send(talk, "initialize", sdkMcpServers=["calc"], sdkMcpServerConfigs=configs)
    assert run_turn(talk) == []
    assert results(here)[0]["is_error"]
    assert "8" not in json.dumps(results(here)[0]["content"])
    assert talk.end() == 0


def test_a_policy_that_would_allow_changes_nothing(desk: MakeDesk) -> None:
    here = desk(script(DOUBLE, "1"))
    talk = Talk(here, "--permission-prompt-tool", "stdio")
    configs = {"calc": {"tools": [{"name": "double", "permission_policy": "always_allow"}]}}
    send(talk, "initialize", sdkMcpServers=["calc"], sdkMcpServerConfigs=configs)
    assert run_turn(talk) == ["mcp__calc__double"]
    assert talk.end() == 0


def test_new_servers_replace_the_policies_of_earlier_ones(desk: MakeDesk) -> None:
    here = desk(script(ADD, "1", ADD, "2"))
    talk = Talk(here, *BYPASS)
    server = describe(here)["mcpServers"]["demo"]
    policy = {"name": "add", "permission_policy": "anything else"}
    send(talk, "mcp_set_servers", servers={"demo": {**server, "tools": [policy]}})
    assert run_turn(talk) == ["mcp__demo__add"]
    send(talk, "mcp_set_servers", servers={"demo": server})
    assert run_turn(talk) == []
    assert talk.end() == 0


# -- the time that a call may take


def test_a_call_of_a_tool_ends_at_the_limit_of_its_server(desk: MakeDesk) -> None:
    here = desk(script(DOUBLE, "1"))
    talk = Talk(here, *BYPASS, environ={"MCP_TOOL_TIMEOUT": "600000"})
    send(talk, "initialize", sdkMcpServers=["calc"], sdkMcpServerConfigs={"calc": {"timeout": 1000}})
    began = time.monotonic()
    run_turn(talk, answers_calls=False)
    assert time.monotonic() - began >= 1
    (result,) = results(here)
    assert (result["is_error"], "timed out" in json.dumps(result["content"])) == (True, True)
    assert talk.end() == 0


# -- resources


def test_only_ui_resources_of_servers_that_turnlog_has_connected_to_are_read(desk: MakeDesk) -> None:
    here = desk(script("1", "2"))
    server = describe(here)["mcpServers"]["demo"]
    part = '{"uri": params["uri"], "text": "the resource", "_meta": {"com.anthropic/x": 1, "ui": {"csp": "none"}}}'
    (here.base / "server.py").write_text(SERVER.replace('{"uri": params["uri"], "text": "the resource"}', part))
    talk = Talk(here)
    send(talk, "initialize", sdkMcpServers=["calc"])
    run_turn(talk)
    assert "mcp_read_resource_v1" in next(one for one in talk.told if one.get("subtype") == "init")["capabilities"]
    send(talk, "mcp_set_servers", servers={"demo": server, "gone": {"command": "false"}})
    found = send(talk, "mcp_read_resource", serverName="demo", uri="ui://view")["response"]
    assert found == {"contents": [{"uri": "ui://view", "text": "the resource", "_meta": {"ui": {"csp": "none"}}}]}
    errors = {
        "ui:// scheme": {"serverName": "demo", "uri": "file:///etc/passwd"},
        "Server not found: x": {"serverName": "x", "uri": "ui://view"},
        "gone is failed": {"serverName": "gone", "uri": "ui://view"},
        "must be a string": {"uri": "ui://view"},
    }
    for error, fields in errors.items():
        assert error in send(talk, "mcp_read_resource", **fields)["error"]
    assert talk.end() == 0
