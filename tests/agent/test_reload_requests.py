"""Files that a session reads again at the request of a program: what changes, and what stays as it was at the start."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.desk import Desk, call, reply, script
from tests.agent.stream import Talk, control, user
from tests.agent.test_commands_in_files import write
from tests.agent.test_mcp_servers import describe
from tests.agent.waits import wait_until

Json = dict[str, Any]
MakeDesk = Callable[[Json], Desk]
SKILL = "---\ndescription: Is fresh\n---\nBe fresh."


def send(talk: Talk, subtype: str, **fields: Any) -> Json:
    talk.say(control("r", subtype=subtype, **fields))
    answer = dict(talk.until("control_response")["response"])
    return dict(answer.get("response") or answer)


def say(talk: Talk, text: str) -> str:
    talk.say(user(text))
    return str(talk.until("result")["result"])


def write_plugin(here: Desk, name: str, **servers: Json) -> str:
    """Write a plugin with a command, a sub-agent, a hook and servers; return its folder."""
    write(here, f"{name}/.claude-plugin/plugin.json", json.dumps({"name": name}))
    write(here, f"{name}/commands/hi.md", f"Hi from {name}")
    write(here, f"{name}/agents/a.md", "---\nname: helper\ndescription: Helps\n---\nHelp")
    hook = {"type": "command", "command": f"echo hook of {name}"}
    write(here, f"{name}/hooks/hooks.json", json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}))
    if servers:
        write(here, f"{name}/.mcp.json", json.dumps({"mcpServers": servers}))
    return str(here.base / name)


def test_a_skill_that_is_written_while_the_session_runs_is_offered_after_a_reload(desk: MakeDesk) -> None:
    here = desk(script("One.", "Two.", reply(call("Skill", skill="fresh")), "Done."))
    here.trust()
    talk = Talk(here)
    say(talk, "one")
    write(here, "project/.claude/skills/fresh/SKILL.md", SKILL)
    write(here, "project/.claude/commands/cmd.md", "Do it")
    say(talk, "two")
    assert "Skill" not in [tool["name"] for tool in here.requests[-1]["tools"]]
    skills = send(talk, "reload_skills")["skills"]
    assert {"name": "fresh", "description": "Is fresh", "argumentHint": ""} in skills
    assert "cmd" in [one["name"] for one in skills]
    (told,) = [line for line in talk.told if line.get("subtype") == "commands_changed"]
    assert {"fresh", "cmd"} <= {one["name"] for one in told["commands"]}
    assert say(talk, "three") == "Done."
    assert "Be fresh." in json.dumps(here.requests[-1]["messages"])
    send(talk, "reload_skills")
    assert len([line for line in talk.told if line.get("subtype") == "commands_changed"]) == 1
    assert talk.end() == 0


def test_the_files_of_a_project_that_was_not_trusted_at_the_start_stay_unread(desk: MakeDesk) -> None:
    here = desk(script("One."))
    talk = Talk(here)
    write(here, "project/.claude/skills/fresh/SKILL.md", SKILL)
    write(here, "project/.claude/output-styles/terse.md", "---\nname: Terse\n---\nBe terse.")
    assert "commands" in send(talk, "initialize")
    here.trust()
    assert "fresh" not in [one["name"] for one in send(talk, "reload_skills")["skills"]]
    assert "Terse" not in send(talk, "reload_output_styles")["available_output_styles"]
    assert "fresh" not in [one["name"] for one in send(talk, "reload_plugins")["commands"]]
    assert talk.end() == 0


def test_a_program_that_limits_skills_does_so_after_a_reload(desk: MakeDesk) -> None:
    here = desk(script("One."))
    here.trust()
    for name in ("good", "bad"):
        write(here, f"project/.claude/skills/{name}/SKILL.md", f"---\ndescription: Is {name}\n---\nx")
    talk = Talk(here)
    send(talk, "initialize", skills=["good"])
    send(talk, "reload_skills")
    say(talk, "one")
    (tool,) = [tool for tool in here.requests[-1]["tools"] if tool["name"] == "Skill"]
    assert ("good: Is good" in tool["description"], "bad" in tool["description"]) == (True, False)
    assert talk.end() == 0


def test_output_styles_are_listed_as_they_are_on_the_disk(desk: MakeDesk) -> None:
    here = desk(script("One."))
    here.trust()
    talk = Talk(here)
    names = ["default", "Explanatory", "Learning"]
    assert send(talk, "initialize")["available_output_styles"] == names
    write(here, "project/.claude/output-styles/terse.md", "---\nname: Terse\n---\nBe terse.")
    assert send(talk, "reload_output_styles") == {"available_output_styles": [*names, "Terse"]}
    assert talk.end() == 0


def test_a_plugin_joins_a_session_and_is_read_again(desk: MakeDesk) -> None:
    here = desk(script("One.", "Two.", "Three."))
    first = write_plugin(here, "first")
    talk = Talk(here, "--plugin-dir", first)
    agents = {"critic": {"description": "Criticises", "prompt": "Be stern."}}
    send(talk, "initialize", agents=agents, appendSubagentSystemPrompt="Be short.")
    server = describe(here)["mcpServers"]["demo"]
    second = write_plugin(here, "second", demo=server)
    write(here, "first/commands/new.md", "New")
    found = send(talk, "reload_plugins", add_plugins=[{"type": "local", "path": second}])
    assert found["plugins"] == [{"name": "first", "path": first}, {"name": "second", "path": second}]
    assert {"first:hi", "first:new", "second:hi"} <= {one["name"] for one in found["commands"]}
    assert {"critic", "first:helper", "second:helper"} <= {one["name"] for one in found["agents"]}
    assert [(one["name"], one["status"]) for one in found["mcpServers"]] == [("plugin:second:demo", "connected")]
    assert (found["error_count"], "held" in found) == (0, False)
    assert say(talk, "/second:hi") == "One."
    sent = here.requests[-1]
    assert "mcp__plugin_second_demo__add" in [tool["name"] for tool in sent["tools"]]
    assert "hook of first" in json.dumps(sent["messages"])
    assert "hook of second" in json.dumps(sent["messages"])
    (init,) = [line for line in talk.told if line.get("subtype") == "init"]
    assert init["plugins"] == found["plugins"]
    (Path(second) / ".mcp.json").unlink()
    (Path(second) / "hooks" / "hooks.json").unlink()
    assert send(talk, "reload_plugins")["mcpServers"] == []
    say(talk, "two")
    assert "mcp__plugin_second_demo__add" not in [tool["name"] for tool in here.requests[-1]["tools"]]
    assert "hook of second" not in json.dumps(here.requests[-1]["messages"][-1])
    assert talk.end() == 0


def test_a_plugin_without_its_servers(desk: MakeDesk) -> None:
    here = desk(script("One."))
    folder = write_plugin(here, "plug", demo=describe(here)["mcpServers"]["demo"])
    talk = Talk(here)
    plugin = {"type": "local", "path": folder, "skipMcpDiscovery": True}
    found = send(talk, "reload_plugins", add_plugins=[plugin, {"type": "local", "path": "/nonexistent/x"}])
    assert (found["mcpServers"], len(found["plugins"]), found["error_count"]) == ([], 1, 1)
    assert send(talk, "reload_plugins")["mcpServers"] == []
    assert not (here.base / "started").exists()
    assert talk.end() == 0


def test_a_reload_that_changes_the_tools_of_a_conversation_can_be_held(desk: MakeDesk) -> None:
    here = desk(script("One.", "Two."))
    plugin = {"type": "local", "path": write_plugin(here, "plug", demo=describe(here)["mcpServers"]["demo"])}
    talk = Talk(here)
    say(talk, "one")
    held = send(talk, "reload_plugins", add_plugins=[plugin], hold_on_cache_impact=True)
    impact = {"mcp_servers_added": ["plugin:plug:demo"], "mcp_servers_removed": [], "lsp_tool_change": None}
    assert (held["held"], held["cache_impact"], held["plugins"]) == (True, impact, [])
    assert send(talk, "reload_plugins", hold_on_cache_impact=True)["held"] is False
    assert send(talk, "reload_plugins", add_plugins=[plugin])["mcpServers"][0]["status"] == "connected"
    assert talk.end() == 0


@pytest.mark.parametrize(
    "plugins", [{"a": 1}, ["x"], [{"type": "local", "path": "relative"}], [{"type": "npm", "path": "/x"}], [{}], "/x"]
)
def test_a_malformed_list_of_plugins_is_refused(desk: MakeDesk, plugins: Any) -> None:
    talk = Talk(desk(script("One.")))
    assert "absolute paths" in send(talk, "reload_plugins", add_plugins=plugins)["error"]
    assert talk.end() == 0


def test_a_plugin_whose_guard_can_not_run_is_refused(desk: MakeDesk) -> None:
    here = desk(script("One."))
    folder = write_plugin(here, "plug")
    hook = {"type": "prompt", "prompt": "Is it safe?"}
    write(here, "plug/hooks/hooks.json", json.dumps({"hooks": {"PreToolUse": [{"hooks": [hook]}]}}))
    talk = Talk(here)
    answer = send(talk, "reload_plugins", add_plugins=[{"type": "local", "path": folder}])
    assert "turnlog does not run hooks of type 'prompt'" in answer["error"]
    assert send(talk, "reload_plugins")["plugins"] == []
    assert talk.end() == 0


def test_a_busy_session_is_not_changed_if_the_program_says_so(desk: MakeDesk) -> None:
    wait = call("Bash", command="touch waits; until [ -e go ]; do sleep 0.02; done", description="Wait")
    here = desk(script(reply(wait), "Done."))
    talk = Talk(here, "--permission-mode", "bypassPermissions")
    assert "plugins" in send(talk, "reload_plugins", refuse_if_busy=True)
    talk.say(user("go"))
    wait_until((here.cwd / "waits").exists)
    assert send(talk, "reload_plugins", refuse_if_busy=True)["error_code"] == "reload_plugins_busy"
    (here.cwd / "go").touch()
    talk.until("result")
    wait_until(lambda: "plugins" in send(talk, "reload_plugins", refuse_if_busy=True))
    (init,) = [line for line in talk.told if line.get("subtype") == "init"]
    assert "reload_plugins_refuse_if_busy_v1" in init["capabilities"]
    assert talk.end() == 0
