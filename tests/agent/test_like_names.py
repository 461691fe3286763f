"""Two servers, tools, plugins, skills or sub-agents never share a name, and so never a permission rule."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.desk import Desk, script
from tests.agent.stream import Json, Talk, control, user
from turnlog.agent.briefing.agents import load_agent_types
from turnlog.agent.commands.command_files import load_commands
from turnlog.agent.mcp_servers.server_config import find_servers
from turnlog.agent.plugins import EnabledPlugin, list_enabled_plugins
from turnlog.agent.settings import Settings, load_settings

MakeDesk = Callable[[dict[str, Any]], Desk]


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def serve(*names: str) -> Json:
    return {"mcpServers": {name: {"command": "/nonexistent/server"} for name in names}}


def load(base: Path) -> Settings:
    return load_settings(base / "project", base / "home" / ".claude", is_trusted=True, managed=base / "none")


def find_names(base: Path, *flags: Json, plugins: tuple[EnabledPlugin, ...] = ()) -> tuple[list[str], str]:
    """The servers that may start, and what is said of the others."""
    (base / "project").mkdir(exist_ok=True)
    found = find_servers(
        load(base), base / "project", base / "home" / ".claude", {}, flags=[*map(json.dumps, flags)], plugins=plugins,
        sources=("user", "project", "local"),
    )  # fmt: skip
    return [one.name for one in found.servers], " ".join(map(str, found.problems))


@pytest.mark.parametrize(("first", "second"), [("a.b", "a_b"), ("a b", "a.b"), ("xéy", "xüy"), ("a:b", "a/b")])
def test_of_two_servers_whose_tools_would_have_the_same_names_one_starts(
    tmp_path: Path, first: str, second: str
) -> None:
    names, problems = find_names(tmp_path, serve(first, second, "other"))
    assert names == [first, "other"]
    assert repr(second) in problems
    assert "share its permission rules; rename one of them" in problems


def test_a_server_of_the_same_name_still_replaces_the_one_of_a_lower_place(tmp_path: Path) -> None:
    assert find_names(tmp_path, serve("a.b"), serve("a.b")) == (["a.b"], "")


def test_a_server_of_a_project_does_not_take_over_the_rules_of_the_person_s_own(tmp_path: Path) -> None:
    write(tmp_path / "home" / ".claude.json", serve("a.b"))
    write(tmp_path / "project" / ".mcp.json", serve("a_b", "own"))
    names, problems = find_names(tmp_path)
    assert sorted(names) == ["a.b", "own"]
    assert "'a_b' does not start" in problems


def test_a_server_of_a_plugin_does_not_replace_one_of_the_person(tmp_path: Path) -> None:
    for name, server in (("a", "b_c"), ("a_b", "c")):
        write(tmp_path / name / ".mcp.json", serve(server))
    plugins = tuple(EnabledPlugin(name, tmp_path / name) for name in ("a", "a_b"))
    names, problems = find_names(tmp_path, plugins=plugins)
    assert names == ["plugin:a:b_c"]
    assert "'plugin:a_b:c' does not start" in problems
    assert find_names(tmp_path, serve("plugin_a_b_c"), plugins=plugins)[0] == ["plugin_a_b_c"]


def test_the_servers_of_a_program_share_no_name_either(desk: MakeDesk) -> None:
    here = desk(script("Done."))
    talk = Talk(here)
    talk.say(control("i", subtype="initialize", sdkMcpServers=["a.b", "a_b"]), user("go"))
    tools = [{"name": "run", "description": "runs", "inputSchema": {"type": "object"}}]
    asked: set[str] = set()
    for _ in range(4):  # initialize, initialized, tools and prompts of the only one that is reached
        request = talk.wait_for_request()
        asked.add(request["request"]["server_name"])
        message = request["request"]["message"]
        answers: Json = {
            "initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "c"}},
            "tools/list": {"tools": tools},
        }
        talk.answer(request, mcp_response={"jsonrpc": "2.0", "id": message.get("id"),
                                           "result": answers.get(message["method"], {})})  # fmt: skip
    assert talk.until("result")["result"] == "Done."
    assert talk.end() == 0
    assert asked == {"a.b"}
    offered = [tool["name"] for tool in here.requests[0]["tools"] if tool["name"].startswith("mcp__")]
    assert offered == ["mcp__a_b__run"]


def test_servers_that_a_program_adds_later_do_not_get_the_names_of_those_that_run(desk: MakeDesk) -> None:
    here = desk(script("Done."))
    write(here.home / ".claude.json", serve("a.b"))
    talk = Talk(here)
    talk.say(control("i", subtype="initialize"))
    talk.until("control_response")
    talk.say(control("s", subtype="mcp_set_servers", servers=serve("a_b", "c.d", "c_d")["mcpServers"]))
    answer = talk.until("control_response")["response"]["response"]
    assert "share its permission rules" in answer["errors"]["a_b"]
    assert "share its permission rules" in answer["errors"]["c_d"]
    assert "share its permission rules" not in answer["errors"]["c.d"]
    talk.end()


def test_of_two_plugins_of_one_name_the_first_is_loaded_and_the_other_is_named(desk: MakeDesk) -> None:
    here = desk(script("Done."))
    here.trust()
    for number in (1, 2):
        write(here.base / f"p{number}" / "commands" / "go.md", f"from {number}")
    plugins = {f"fmt@m{number}": [{"installPath": str(here.base / f"p{number}")}] for number in (2, 1)}
    write(here.config / "plugins" / "installed_plugins.json", {"plugins": plugins})
    write(here.config / "settings.json", {"enabledPlugins": {"fmt@m1": True, "fmt@m2": True}})
    settings = load_settings(here.cwd, here.config, is_trusted=True, managed=here.base / "none")
    assert [plugin.folder.name for plugin in list_enabled_plugins(settings, here.config)] == ["p1"]
    done = here.turnlog("-p", "/fmt:go")
    assert "the plugin fmt@m2 is not loaded: it would share names and rules with fmt@m1" in done.stderr
    assert "from 1" in str(here.requests[-1])


def test_only_a_plugin_has_skills_and_agents_with_its_name(tmp_path: Path) -> None:
    plugin = EnabledPlugin("fmt", tmp_path / "plugin")
    about = "---\nname: {}\ndescription: one\n---\n{}"
    write(tmp_path / "plugin" / "commands" / "go.md", "from the plugin")
    write(tmp_path / "plugin" / "agents" / "check.md", about.format("check", "from the plugin"))
    write(tmp_path / "project" / ".claude" / "commands" / "fmt" / "go.md", "from the project")
    write(tmp_path / "project" / ".claude" / "commands" / "other" / "go.md", "from the project")
    write(tmp_path / "project" / ".claude" / "agents" / "a.md", about.format("fmt:check", "from the project"))
    write(tmp_path / "project" / ".claude" / "agents" / "b.md", about.format("fmt:more", "from the project"))
    warnings: list[str] = []
    given: Any = {"plugins": [plugin], "is_trusted": True, "warn": warnings.append}
    commands = load_commands(tmp_path / "project", tmp_path / "config", **given)
    agents = load_agent_types(tmp_path / "project", tmp_path / "config", **given)
    assert {name: command.body for name, command in commands.items()} == {
        "fmt:go": "from the plugin",
        "other:go": "from the project",
    }
    assert agents["fmt:check"].prompt == "from the plugin"
    assert "fmt:more" not in agents
    assert len([line for line in warnings if "belong to a plugin" in line]) == 3


def test_two_agents_of_one_name_in_one_folder_cause_a_warning(tmp_path: Path) -> None:
    for number in (1, 2):
        text = f"---\nname: check\ndescription: one\n---\nnumber {number}"
        write(tmp_path / "project" / ".claude" / "agents" / f"{number}.md", text)
    warnings: list[str] = []
    agents = load_agent_types(tmp_path / "project", tmp_path / "config", warnings.append)
    assert agents["check"].prompt == "number 2"
    assert [line.rpartition("/")[2] for line in warnings] == [
        "2.md: its sub-agent has the name of the one in 1.md and replaces it"
    ]
