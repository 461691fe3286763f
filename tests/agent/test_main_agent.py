"""Sessions that work as an agent, and what a program decides at the start: restrictions, plugins, another project."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.desk import Desk, call, reply, script
from tests.agent.stream import STREAMS, control, fed, user
from tests.interop.mock_anthropic import MockAnthropic
from turnlog.agent.program_policy import read_program_policy
from turnlog.errors import UsageError

Json = dict[str, Any]
MakeDesk = Callable[..., Desk]
REVIEWER = "---\nname: reviewer\ndescription: Reviews\ntools: Read, Bash\nmodel: haiku\neffort: low\n---\nYou review.\n"
TOUCH = call("Bash", command="touch made", description="Make")
WRITE = call("Write", file_path="note.txt", content="one\n")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[MakeDesk]:
    with ExitStack() as servers:
        yield lambda *replies: Desk(tmp_path, servers.enter_context(MockAnthropic(script(*replies))))


def write_agent(here: Desk) -> None:
    path = here.config / "agents/reviewer.md"
    path.parent.mkdir(parents=True)
    path.write_text(REVIEWER)


def list_tools(request: Json) -> set[str]:
    return {tool["name"] for tool in request["tools"]}


def test_a_session_works_as_an_agent(desk: MakeDesk) -> None:
    here = desk("Done.")
    write_agent(here)
    assert here.turnlog("-p", "go", "--agent", "reviewer").returncode == 0
    (request,) = here.requests
    assert list_tools(request) == {"Read", "Bash"}
    assert "You review." in json.dumps(request["system"])
    assert request["model"].startswith("claude-haiku")


def test_options_count_more_than_the_agent(desk: MakeDesk) -> None:
    here = desk("Done.")
    write_agent(here)
    words = ("--model", "claude-opus-5-5", "--effort", "high", "--system-prompt", "Only mine.")
    here.turnlog("-p", "go", "--agent", "reviewer", *words)
    (request,) = here.requests
    assert (request["model"], request["output_config"]["effort"]) == ("claude-opus-5-5", "high")
    assert "Only mine." in json.dumps(request["system"])
    assert "You review." not in json.dumps(request["system"])
    assert list_tools(request) == {"Read", "Bash"}


def test_a_tool_that_the_agent_lacks_does_not_run(desk: MakeDesk) -> None:
    here = desk(reply(WRITE), "Done.")
    write_agent(here)
    here.turnlog("-p", "go", "--agent", "reviewer", "--permission-mode", "bypassPermissions")
    assert not (here.cwd / "note.txt").exists()


def test_the_setting_names_the_agent_too(desk: MakeDesk) -> None:
    here = desk("Done.")
    write_agent(here)
    (here.config / "settings.json").write_text('{"agent": "reviewer"}')
    here.turnlog("-p", "go")
    assert list_tools(here.requests[0]) == {"Read", "Bash"}


@pytest.mark.parametrize("words", [("--agent", "nobody"), ("--settings", '{"agent": "nobody"}')])
def test_no_session_starts_without_the_agent_it_should_work_as(desk: MakeDesk, words: tuple[str, ...]) -> None:
    here = desk("Done.")
    done = here.turnlog("-p", "go", *words)
    assert done.returncode == 2
    assert "there is no such agent; choose from " in done.stderr
    assert here.requests == []


def test_the_mode_of_an_agent_in_the_project_has_no_effect(desk: MakeDesk) -> None:
    here = desk(reply(TOUCH), "Done.")
    here.trust()
    path = here.cwd / ".claude/agents/free.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: free\ndescription: x\npermissionMode: bypassPermissions\n---\nDo all.\n")
    here.turnlog("-p", "go", "--agent", "free")
    assert not (here.cwd / "made").exists()


AGENTS = {"own": {"description": "Own", "prompt": "Be OWN.", "tools": ["Read"]}}


def test_a_program_defines_the_agent_after_the_start(desk: MakeDesk) -> None:
    here = desk("Done.")
    fed(here, control("a", subtype="initialize", agents=AGENTS), user("go"), more=("--agent", "own"))
    assert list_tools(here.requests[0]) == {"Read"}
    assert "Be OWN." in json.dumps(here.requests[0]["system"])


def test_a_program_that_never_defines_the_agent_gets_an_error(desk: MakeDesk) -> None:
    here = desk("Done.")
    done = here.turnlog(*STREAMS, "--agent", "own", stdin=json.dumps(user("go")) + "\n")
    assert (done.returncode, here.requests) == (2, [])
    assert json.loads(done.stdout.splitlines()[-1])["errors"][0].startswith("--agent own: there is no such agent")


def test_restrictions_of_the_program_hold_in_every_mode(desk: MakeDesk) -> None:
    here = desk(reply(TOUCH), "Done.")
    policy = {"permissions": {"deny": ["Bash(touch:*)"], "allow": ["Write"]}}
    words = ("--permission-mode", "bypassPermissions", "--managed-settings", json.dumps(policy))
    here.turnlog("-p", "go", *words)
    assert not (here.cwd / "made").exists()


def test_restrictions_of_the_program_allow_nothing(desk: MakeDesk) -> None:
    here = desk(reply(TOUCH), "Done.")
    policy = {"permissions": {"allow": ["Bash"]}, "env": {"A": "b"}, "hooks": {"PreToolUse": []}}
    here.turnlog("-p", "go", "--managed-settings", json.dumps(policy))
    assert not (here.cwd / "made").exists()


@pytest.mark.parametrize("name", ["sandbox", "availableModels", "permissionz"])
def test_a_restriction_that_can_not_be_enforced_stops_the_start(desk: MakeDesk, name: str) -> None:
    here = desk("Done.")
    done = here.turnlog("-p", "go", "--managed-settings", json.dumps({name: {}}))
    assert done.returncode == 2
    assert done.stderr == f"turnlog: --managed-settings: turnlog can't enforce {name}\n"


NAMES = st.sampled_from(
    "permissions env hooks model allowManagedHooksOnly disableAllHooks deniedMcpServers sandbox apiKeyHelper".split()
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["allow", "deny", "ask"]), inner),
)


@given(st.dictionaries(NAMES, VALUES))
def test_no_restrictions_ever_become_permissions(tmp_path_factory: pytest.TempPathFactory, values: Json) -> None:
    try:
        layer = read_program_policy(json.dumps(values), tmp_path_factory.getbasetemp())
    except UsageError:
        return
    assert layer.name == "managed"
    assert not layer.values.keys() & {"env", "hooks", "model", "apiKeyHelper", "sandbox"}
    assert "allow" not in layer.values.get("permissions", {})


def write_plugin(here: Desk) -> Path:
    """A plugin with a command and a server that leaves a file when it is started."""
    folder = here.base / "plug"
    (folder / "commands").mkdir(parents=True)
    (folder / "commands/greet.md").write_text("Greet with PEARS.\n")
    server = {"command": "touch", "args": [str(here.base / "started")]}
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"s": server}}))
    return folder


@pytest.mark.parametrize(("option", "starts"), [("--plugin-dir", True), ("--plugin-dir-no-mcp", False)])
def test_a_plugin_is_loaded_without_its_servers(desk: MakeDesk, option: str, starts: bool) -> None:
    here = desk("Done.")
    folder = write_plugin(here)
    done = here.turnlog(*STREAMS, option, str(folder), stdin=json.dumps(user("/plug:greet")) + "\n")
    init = json.loads(done.stdout.splitlines()[0])
    assert init["plugins"] == [{"name": "plug", "path": str(folder)}]
    assert "PEARS" in json.dumps(here.requests[0]["messages"])
    assert (here.base / "started").exists() is starts


@pytest.mark.parametrize("skips", [False, True])
def test_a_program_names_plugins_in_its_first_request(desk: MakeDesk, skips: bool) -> None:
    here = desk("Done.")
    plugin = {"type": "local", "path": str(write_plugin(here)), "skipMcpDiscovery": skips}
    lines = [control("a", subtype="initialize", plugins=[plugin]), user("/plug:greet")]
    stdin = "".join(json.dumps(line) + "\n" for line in lines)
    here.turnlog(*STREAMS, "--await-initialize", stdin=stdin)
    assert "PEARS" in json.dumps(here.requests[0]["messages"])
    assert (here.base / "started").exists() is not skips


@pytest.mark.parametrize("first", ["", "nonsense\n", '{"type":"control_request"}\n', '[1]\n{"a":1}\n'])
def test_a_first_line_without_plugins_changes_nothing(desk: MakeDesk, first: str) -> None:
    stdin = first + json.dumps(user("go")) + "\n"
    waited = desk("Done.").turnlog(*STREAMS, "--await-initialize", stdin=stdin)
    plain = desk("Done.").turnlog(*STREAMS, stdin=stdin)
    assert (waited.returncode, len(waited.stdout.splitlines())) == (plain.returncode, len(plain.stdout.splitlines()))
    assert waited.stderr == plain.stderr


def test_project_settings_come_from_the_named_folder(desk: MakeDesk) -> None:
    here = desk(reply(TOUCH), "Done.")
    trusted = here.base / "trusted"
    for folder, rules in ((here.cwd, {"allow": ["Bash"]}), (trusted, {"deny": ["Bash(touch:*)"]})):
        (folder / ".claude").mkdir(parents=True)
        (folder / ".claude/settings.json").write_text(json.dumps({"permissions": rules}))
    state = {"projects": {str(folder): {"hasTrustDialogAccepted": True} for folder in (here.cwd, trusted)}}
    (here.home / ".claude.json").write_text(json.dumps(state))
    here.turnlog("-p", "go", "--project-config-root", str(trusted))
    assert not (here.cwd / "made").exists()


@pytest.mark.parametrize("name", ["relative", "/no/such/folder"])
def test_a_wrong_folder_for_project_settings_is_an_error(desk: MakeDesk, name: str) -> None:
    done = desk("Done.").turnlog("-p", "go", "--project-config-root", name)
    assert done.returncode == 2
    assert done.stderr == f"turnlog: --project-config-root {name}: not the absolute path of a folder\n"
