"""Requests by programs about the session: every one is answered, and what they change has an effect."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable
from typing import Any

import pytest

from tests.agent.desk import Desk, call, reply, script
from tests.agent.stream import Talk, control, fed, user
from tests.agent.test_mcp_servers import describe
from turnlog.agent.print_mode.control_requests import CONTROL_REQUESTS

Json = dict[str, Any]
MakeDesk = Callable[[Json], Desk]
TOUCH = call("Bash", command="touch made", description="Make")


def list_answers(lines: list[Json]) -> dict[str, Json]:
    return {line["response"]["request_id"]: line["response"] for line in lines if line["type"] == "control_response"}


def test_every_request_is_answered_even_without_its_fields(desk: MakeDesk) -> None:
    here = desk(script("One."))
    names = [*CONTROL_REQUESTS, "unheard_of"]
    answers = list_answers(fed(here, user("go"), *(control(name, subtype=name) for name in names)))
    assert answers.keys() == set(names)
    failed = {name for name, answer in answers.items() if answer["subtype"] == "error"}
    needed = {"read_file", "apply_flag_settings", "update_settings", "set_permission_mode", "rewind_files"}
    needed |= {"rename_session", "mcp_reconnect", "mcp_toggle", "mcp_read_resource", "set_mcp_permission_mode_override"}
    assert failed == {*needed, "unheard_of"}
    assert answers["unheard_of"]["error_code"] == "unsupported_request"


def test_the_first_answer_describes_the_client(desk: MakeDesk) -> None:
    (answer,) = list_answers(fed(desk(script("One.")), control("a", subtype="initialize"))).values()
    told = answer["response"]
    assert re.fullmatch(r"2\.\d+\.\d+ \(turnlog/.+\)", told["claude_code_version"])
    assert told["account"] == {"tokenSource": "none", "apiKeySource": "ANTHROPIC_API_KEY", "apiProvider": "firstParty"}
    assert {"value", "resolvedModel", "displayName", "description"} <= told["models"][0].keys()
    assert "Explore" in [one["name"] for one in told["agents"]]
    assert told["current_permission_mode"] == "default"


def test_sub_agents_that_a_program_defines_work(desk: MakeDesk) -> None:
    task = call("Task", description="d", prompt="look", subagent_type="critic")
    here = desk(script(reply(task), "The report.", "Done."))
    agents = {"critic": {"description": "Criticises", "prompt": "Be stern.", "tools": ["Read"], "model": "haiku"}}
    fed(here, control("a", subtype="initialize", agents=agents, appendSubagentSystemPrompt="Be short."), user("go"))
    inner = next(body for body in here.requests if body["system"][0]["text"] == "Be stern.\n\nBe short.")
    assert [tool["name"] for tool in inner["tools"]] == ["Read"]
    assert "haiku" in inner["model"]
    assert "critic: Criticises" in json.dumps(here.requests[0]["tools"])


def test_the_thinking_of_the_next_turn_is_set(desk: MakeDesk) -> None:
    here = desk(script("One.", "Two."))
    talk = Talk(here, "--model", "claude-sonnet-4-5")
    talk.say(control("a", subtype="set_max_thinking_tokens", max_thinking_tokens=2048), user("one"))
    talk.until("result")
    talk.say(control("b", subtype="set_max_thinking_tokens", max_thinking_tokens=0), user("two"))
    talk.until("result")
    talk.end()
    assert [body["thinking"]["type"] for body in here.requests] == ["enabled", "disabled"]
    assert here.requests[0]["thinking"]["budget_tokens"] == 2048


def test_the_context_is_described_by_parts(desk: MakeDesk) -> None:
    talk = Talk(desk(script("One.")))
    talk.say(user("one"))
    talk.until("result")
    talk.say(control("a", subtype="get_context_usage"))
    told = talk.until("control_response")["response"]["response"]
    talk.end()
    used = sum(one["tokens"] for one in told["categories"] if one["kind"] == "used")
    assert 0 < told["totalTokens"] < told["maxTokens"]
    assert abs(used - told["totalTokens"]) <= len(told["categories"])


# -- permission


@pytest.mark.parametrize("destination", ["session", "localSettings", "projectSettings", "userSettings"])
def test_a_program_allows_a_call_for_good(desk: MakeDesk, destination: str) -> None:
    here = desk(script(reply(TOUCH), reply(TOUCH), "Done."))
    here.trust()
    talk = Talk(here, "--permission-prompt-tool", "stdio")
    talk.say(user("go"))
    asked = talk.wait_for_request()
    rule = {"toolName": "Bash", "ruleContent": "touch made"}
    update = {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": destination}
    talk.answer(asked, behavior="allow", updatedPermissions=[update])
    assert talk.until("result")["result"] == "Done."  # it was not asked again
    talk.end()
    files = {
        "localSettings": here.cwd / ".claude" / "settings.local.json",
        "projectSettings": here.cwd / ".claude" / "settings.json",
        "userSettings": here.config / "settings.json",
    }
    written = [name for name, path in files.items() if path.exists() and "touch made" in path.read_text()]
    assert written == [destination] * (destination != "session")


def test_a_program_gets_the_rules_that_would_allow_a_call_for_good(desk: MakeDesk) -> None:
    build = call("Bash", command="npm run build --fast", description="Build")
    talk = Talk(desk(script(reply(build), "Done.")), "--permission-prompt-tool", "stdio")
    talk.say(user("go"))
    asked = talk.wait_for_request()
    talk.answer(asked, behavior="deny", message="no")
    talk.until("result")
    talk.end()
    rules = [{"toolName": "Bash", "ruleContent": "npm run build:*"}]
    suggested = [{"type": "addRules", "rules": rules, "behavior": "allow", "destination": "localSettings"}]
    assert asked["request"]["permission_suggestions"] == suggested
    assert asked["request"]["tool_use_id"].startswith("toolu_")


def test_a_program_denies_later_calls_and_changes_the_mode(desk: MakeDesk) -> None:
    here = desk(script(reply(TOUCH), reply(TOUCH), "Done."))
    talk = Talk(here, "--permission-prompt-tool", "stdio")
    talk.say(user("go"))
    deny = {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "touch:*"}], "behavior": "deny"}
    updates = [{**deny, "destination": "session"}, {"type": "setMode", "mode": "acceptEdits", "destination": "session"}]
    talk.answer(talk.wait_for_request(), behavior="allow", updatedPermissions=updates)
    result = talk.until("result")
    talk.say(control("a", subtype="initialize"))
    mode = talk.until("control_response")["response"]["response"]["current_permission_mode"]
    talk.end()
    assert ([one["tool_name"] for one in result["permission_denials"]], mode) == (["Bash"], "acceptEdits")


def test_a_change_that_can_not_be_applied_is_reported(desk: MakeDesk) -> None:
    here = desk(script(reply(TOUCH), "Done."))
    lines = [user("go")]
    talk = Talk(here, "--permission-prompt-tool", "stdio")
    talk.say(*lines)
    talk.answer(talk.wait_for_request(), behavior="allow", updatedPermissions=[{"type": "nonsense"}, 3])
    assert talk.until("result")["result"] == "Done."
    assert talk.end() == 0


def test_a_signal_ends_a_turn_that_waits_for_the_program(desk: MakeDesk) -> None:
    talk = Talk(desk(script(reply(TOUCH), "never")), "--permission-prompt-tool", "stdio")
    talk.say(user("go"))
    talk.wait_for_request()
    talk.process.send_signal(signal.SIGTERM)
    assert talk.until("result")["subtype"] == "error_during_execution"
    assert talk.end() == 143


# -- MCP servers


def test_servers_are_added_disabled_opened_again_and_removed(desk: MakeDesk) -> None:
    here = desk(script("One.", "Two.", "Three."))
    servers = describe(here)["mcpServers"]
    talk = Talk(here)

    def send(kind: str, **fields: Any) -> Json:
        talk.say(control(kind, subtype=kind, **fields))
        answer: Json = talk.until("control_response")["response"]
        assert answer["subtype"] == "success", answer
        return dict(answer.get("response") or {})

    def is_offered() -> bool:
        talk.say(user("go"))
        talk.until("result")
        return any(tool["name"] == "mcp__demo__add" for tool in here.requests[-1]["tools"])

    assert send("mcp_set_servers", servers=servers) == {"added": ["demo"], "removed": [], "errors": {}}
    (status,) = send("mcp_status")["mcpServers"]
    assert (status["name"], status["status"], {"name": "add"} in status["tools"]) == ("demo", "connected", True)
    assert is_offered()
    send("mcp_toggle", serverName="demo", enabled=False)
    assert (send("mcp_status")["mcpServers"][0]["status"], is_offered()) == ("disabled", False)
    send("mcp_toggle", serverName="demo", enabled=True)
    send("mcp_reconnect", serverName="demo")
    assert is_offered()
    assert send("mcp_set_servers", servers={})["removed"] == ["demo"]
    assert send("mcp_status") == {"mcpServers": []}
    assert talk.end() == 0


def test_a_server_that_fails_or_is_forbidden_is_named(desk: MakeDesk) -> None:
    here = desk(script("One."))
    (here.config / "settings.json").write_text('{"deniedMcpServers": [{"serverName": "bad"}]}')
    talk = Talk(here)
    talk.say(
        control("a", subtype="mcp_set_servers", servers={"gone": {"command": "false"}, "bad": {"command": "true"}})
    )
    errors = talk.until("control_response")["response"]["response"]["errors"]
    talk.end()
    assert errors.keys() == {"gone", "bad"}
    assert "forbids" in errors["bad"]
