"""What is configured and not honoured is said; a guard rail that would be missing lets nothing begin."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.desk import Desk, call, reply, script
from tests.agent.stream import STREAMS, Json, control, user
from turnlog.agent.briefing.agents import load_agent_types
from turnlog.agent.hooks.hook_settings import load_hooks
from turnlog.agent.plugins import list_enabled_plugins
from turnlog.agent.settings import load_settings
from turnlog.agent.unsupported_feature import UnsupportedFeature
from turnlog.agent.unsupported_features import find_unsupported

MakeDesk = Callable[[dict[str, Any]], Desk]
UNKNOWN = {"type": "prompt", "prompt": "Is it good?"}
GUARDS = ("PreToolUse", "PermissionRequest", "UserPromptSubmit")
LAYERS = {
    "local": "project/.claude/settings.local.json",
    "project": "project/.claude/settings.json",
    "user": "home/.claude/settings.json",
    "managed": "managed/managed-settings.json",
    "added to managed": "managed/managed-settings.d/10.json",
}


def hooks(*events: str) -> Json:
    return {"hooks": {event: [{"matcher": "Bash", "hooks": [UNKNOWN]}] for event in events}}


def write(path: Path, values: Json) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values))
    return path


def list_unsupported(base: Path, *, is_trusted: bool = True) -> list[UnsupportedFeature]:
    """What is not honoured in a project."""
    root, config = base / "project", base / "home" / ".claude"
    managed = base / "managed" / "managed-settings.json"
    settings = load_settings(root, config, is_trusted=is_trusted, managed=managed)
    return find_unsupported(settings, config, load_hooks(settings, list_enabled_plugins(settings, config)).problems)


# -- which hooks are guard rails


@pytest.mark.parametrize("event", GUARDS)
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("is_trusted", [True, False])
def test_a_hook_that_cannot_run_is_a_guard_in_every_layer(
    tmp_path: Path, event: str, layer: str, is_trusted: bool
) -> None:
    path = write(tmp_path / LAYERS[layer], hooks(event, "Stop"))
    first, second = list_unsupported(tmp_path, is_trusted=is_trusted)
    assert (first.where, first.is_guard, event in first.what) == (str(path), True, True)
    assert (second.is_guard, "Stop" in second.what) == (True, True)


@pytest.mark.parametrize("layer", ["local", "project"])
def test_hooks_of_a_folder_that_is_not_trusted_do_not_run_and_a_guard_among_them_stops_the_start(
    tmp_path: Path, layer: str
) -> None:
    command = {"hooks": [{"type": "command", "command": "exit 2"}]}
    write(tmp_path / LAYERS[layer], {"hooks": {"PreToolUse": [command], "Stop": [command]}})
    guard, other = list_unsupported(tmp_path, is_trusted=False)
    assert (guard.is_guard, "PreToolUse" in guard.what, "not trusted" in guard.what) == (True, True, True)
    assert (other.is_guard, "Stop" in other.what) == (False, True)
    assert list_unsupported(tmp_path) == []


@pytest.mark.parametrize("event", ["PostToolUse", "Stop", "SessionStart", "Notification", "UnheardOf"])
def test_a_hook_that_only_hears_of_things_is_no_less_missed(tmp_path: Path, event: str) -> None:
    write(tmp_path / LAYERS["user"], hooks(event))
    assert [one.is_guard for one in list_unsupported(tmp_path)] == [True]


@pytest.mark.parametrize(
    "hook",
    [
        {"type": "http", "url": "http://127.0.0.1"},
        {"type": "command"},
        {"type": "command", "command": " "},
        {"type": "command", "command": "x", "timeout": -1},
        {"type": "command", "command": "x", "timeout": True},
        {"type": "command", "command": "x", "args": "y"},
        {"type": "command", "command": "x", "if": "; rm"},
        {"type": "command", "command": "x", "shell": "powershell"},
        {"type": "command", "command": "x", "asyncRewake": True},
    ],
)
def test_a_hook_with_a_field_that_cannot_be_honoured_is_not_run_without_it(tmp_path: Path, hook: Json) -> None:
    write(tmp_path / LAYERS["user"], {"hooks": {"PreToolUse": [{"hooks": [hook]}]}})
    assert [one.is_guard for one in list_unsupported(tmp_path)] == [True]


@pytest.mark.parametrize("matcher", ["[", "(", 5, "a{99999999999}"])
def test_a_matcher_that_is_no_pattern_stops_the_start(tmp_path: Path, matcher: Any) -> None:
    hook = {"matcher": matcher, "hooks": [{"type": "command", "command": "exit 2"}]}
    write(tmp_path / LAYERS["user"], {"hooks": {"PreToolUse": [hook]}})
    assert [one.is_guard for one in list_unsupported(tmp_path)] == [True]


@pytest.mark.parametrize("value", [{}, [], None, {"PreToolUse": []}, {"PreToolUse": [{"matcher": "x", "hooks": []}]}])
def test_hooks_that_run_nothing_are_not_mentioned(tmp_path: Path, value: Any) -> None:
    write(tmp_path / LAYERS["user"], {"hooks": value})
    assert list_unsupported(tmp_path) == []


@pytest.mark.parametrize("value", ["x", ["x"], {"PreToolUse": "x"}, {"PreToolUse": ["x"]}, {"PreToolUse": [{}]}])
def test_hooks_that_are_malformed_count_as_guards(tmp_path: Path, value: Any) -> None:
    write(tmp_path / LAYERS["user"], {"hooks": value})
    assert [one.is_guard for one in list_unsupported(tmp_path)] == [True]


@pytest.mark.parametrize(
    ("layers", "guards"),
    [
        ({"user": {**hooks("PreToolUse"), "disableAllHooks": True}}, []),
        ({"user": hooks("PreToolUse"), "managed": {"disableAllHooks": True}}, []),
        ({"user": hooks("PreToolUse"), "managed": {"allowManagedHooksOnly": True}}, []),
        ({"user": {"disableAllHooks": True}, "managed": hooks("PreToolUse")}, ["managed"]),
        ({"user": hooks("PreToolUse"), "project": {"disableAllHooks": True}}, ["user"]),
        ({"user": {**hooks("PreToolUse"), "disableAllHooks": "yes"}}, ["user"]),
        ({"user": hooks("PreToolUse"), "project": {"allowManagedHooksOnly": True}}, ["user"]),
    ],
)
def test_hooks_that_claude_code_would_not_run_either_are_no_guards(
    tmp_path: Path, layers: dict[str, Json], guards: list[str]
) -> None:
    """The folder is not trusted: what its own settings turn off stays on."""
    for name, values in layers.items():
        write(tmp_path / LAYERS[name], values)
    wanted = [str(tmp_path / LAYERS[name]) for name in guards]
    assert [one.where for one in list_unsupported(tmp_path, is_trusted=False) if one.is_guard] == wanted


def test_a_project_that_is_trusted_can_turn_hooks_off(tmp_path: Path) -> None:
    write(tmp_path / LAYERS["user"], hooks("PreToolUse"))
    write(tmp_path / LAYERS["project"], {"disableAllHooks": True})
    assert list_unsupported(tmp_path) == []


def test_hooks_of_a_plugin_that_is_enabled_are_guards(tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    path = write(plugin / "hooks" / "hooks.json", hooks("PreToolUse"))
    write(
        tmp_path / "home/.claude/plugins/installed_plugins.json",
        {"plugins": {"a@market": [{"installPath": str(plugin)}], "b@market": [{"installPath": str(plugin)}]}},
    )
    write(tmp_path / LAYERS["user"], {"enabledPlugins": {"a@market": True, "b@market": False}})
    assert [(one.where, one.is_guard) for one in list_unsupported(tmp_path)] == [(str(path), True)]


@pytest.mark.parametrize("ignores_hooks", [True, False])
def test_a_sub_agent_with_hooks_that_guard_it_is_left_out_unless_they_are_ignored(
    tmp_path: Path, ignores_hooks: bool
) -> None:
    head = "name: careful\ndescription: x\nhooks:\n  PreToolUse:\n    - matcher: Bash\n"
    path = tmp_path / ".claude" / "agents" / "careful.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"---\n{head}---\nBe careful.")
    warned: list[str] = []
    kinds = load_agent_types(tmp_path, tmp_path / "config", warned.append, ignores_hooks=ignores_hooks)
    assert ("careful" in kinds, len(warned)) == (ignores_hooks, 0 if ignores_hooks else 1)


# -- what else is said


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"language": "german"}, "language is not supported"),
        ({"sandbox": {"enabled": True}}, "without a sandbox"),
        ({"apiKeyHelper": "cat key"}, "apiKeyHelper is not supported"),
        ({"availableModels": []}, "any model can be chosen"),
        ({"enabledPlugins": {"a@b": True}}, "the plugin a@b is not installed"),
    ],
)
def test_a_setting_that_is_not_honoured_is_said_with_its_file(tmp_path: Path, values: Json, expected: str) -> None:
    path = write(tmp_path / LAYERS["user"], values)
    (one,) = list_unsupported(tmp_path)
    assert (one.where, one.is_guard, expected in one.what) == (str(path), False, True)


@pytest.mark.parametrize(
    "values",
    [
        {"sandbox": {"enabled": False}},
        {"statusLine": {"type": "command", "command": "date"}},
        {"enabledPlugins": {"a@b": False}},
        {"model": "opus", "env": {"A": "b"}, "permissions": {"deny": ["Bash"]}},
    ],
)
def test_nothing_is_said_of_settings_that_ask_for_nothing_more(tmp_path: Path, values: Json) -> None:
    write(tmp_path / LAYERS["user"], values)
    assert list_unsupported(tmp_path) == []


def test_a_sandbox_without_which_claude_code_would_not_begin_is_a_guard(tmp_path: Path) -> None:
    write(tmp_path / LAYERS["managed"], {"sandbox": {"enabled": True, "failIfUnavailable": True}})
    assert [one.is_guard for one in list_unsupported(tmp_path)] == [True]


# -- print mode


@pytest.mark.parametrize("place", ["home/.claude/settings.json", "project/.claude/settings.json"])
def test_print_mode_does_not_begin_without_a_guard(desk: MakeDesk, place: str) -> None:
    here = desk(script("never"))
    path = write(here.base / place, hooks("PreToolUse"))
    done = here.turnlog("-p", "go")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert str(path) in done.stderr
    assert "--ignore-hooks" in done.stderr
    assert here.requests == []


def test_print_mode_begins_without_it_when_told_so_and_says_what_is_missing(desk: MakeDesk) -> None:
    here = desk(script("Done."))
    write(here.base / LAYERS["user"], {**hooks("PreToolUse"), "language": "german"})
    write(here.cwd / ".mcp.json", {"mcpServers": {"files": {"command": "x"}}})
    done = here.turnlog("-p", "go", "--ignore-hooks", "--output-format", "json")
    assert (done.returncode, json.loads(done.stdout)["result"]) == (0, "Done.")
    lines = done.stderr.splitlines()
    assert len(lines) == 3
    assert [word in line for word, line in zip(("PreToolUse", "language", "files"), lines, strict=True)] == [True] * 3


def test_settings_of_the_command_line_bring_hooks_too(desk: MakeDesk) -> None:
    here = desk(script("never"))
    done = here.turnlog("-p", "go", "--settings", json.dumps(hooks("PreToolUse")))
    assert (done.returncode, here.requests) == (2, [])
    assert "--settings" in done.stderr


# -- programs


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hooks", {"UnheardOf": [{"hookCallbackIds": ["a"]}]}),
        ("hooks", {"PreToolUse": [{"matcher": "["}]}),
        ("agents", {"reviewer": {"description": "x"}}),
        ("jsonSchema", {"type": "nonsense"}),
    ],
)
def test_a_program_that_relies_on_what_there_is_not_is_refused_and_the_session_ends(
    desk: MakeDesk, name: str, value: Any
) -> None:
    here = desk(script("never"))
    lines = [control("i", subtype="initialize", **{name: value}), user("go")]
    done = here.turnlog(*STREAMS, stdin="".join(json.dumps(line) + "\n" for line in lines))
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert (told[0]["response"]["subtype"], told[0]["response"]["request_id"]) == ("error", "i")
    assert name in told[0]["response"]["error"]
    assert told[-1]["is_error"] is True
    assert (done.returncode, here.requests) == (2, [])


@pytest.mark.parametrize("value", [None, {}, []])
def test_a_program_that_defines_nothing_is_welcome(desk: MakeDesk, value: Any) -> None:
    here = desk(script("Done."))
    lines = [control("i", subtype="initialize", hooks=value, agents=value, sdkMcpServers=value), user("go")]
    done = here.turnlog(*STREAMS, stdin="".join(json.dumps(line) + "\n" for line in lines))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_program_can_give_the_system_prompt_when_it_begins(desk: MakeDesk) -> None:
    here = desk(script("Done."))
    lines = [control("i", subtype="initialize", systemPrompt=["Be a parrot."], appendSystemPrompt="Be loud.")]
    here.turnlog(*STREAMS, stdin="".join(json.dumps(line) + "\n" for line in (*lines, user("go"))))
    assert here.requests[-1]["system"][-1]["text"] == "Be a parrot.\n\nBe loud."


# -- the console


@pytest.mark.parametrize("answer", ["y", "n", "\x1b"])
def test_the_console_asks_before_it_goes_on_without_a_guard(desk: MakeDesk, answer: str) -> None:
    here = desk(script(reply(call("TodoWrite", todos=[])), "Hello."))
    here.trust()
    path = write(here.base / LAYERS["user"], hooks("PreToolUse"))
    with here.terminal(columns=300) as terminal:
        assert str(path) in terminal.expect("[y/n] ")
        terminal.send(answer if answer == "\x1b" else f"{answer}\r")
        if answer != "y":
            assert terminal.wait_for_end() == 1
            return
        terminal.expect("> ")
        terminal.send("/clear\r")  # a new session, for which the answer holds, too
        terminal.expect("Started a new session")
        terminal.expect("> ")
        terminal.send("hello\r")
        terminal.expect("Hello.")


# -- sub-agents


def test_a_sub_agent_is_not_offered_the_tools_that_its_description_denies(desk: MakeDesk) -> None:
    asks = reply(
        call("Task", description="look", prompt="Look around", subagent_type="careful", run_in_background=False)
    )
    agent = {"kind": "agent", "match": "Look around", "replies": ["Seen."]}
    here = desk({"conversations": [{"kind": "main", "replies": [asks, "Done."]}, agent]})
    path = here.cwd / ".claude" / "agents" / "careful.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: careful\ndescription: x\ndisallowedTools: Bash, Write\n---\nBe careful.")
    assert here.turnlog("-p", "go").stdout == "Done.\n"
    offered = [tool["name"] for tool in here.requests[1]["tools"]]
    assert "Read" in offered
    assert not {"Bash", "Write"} & set(offered)
