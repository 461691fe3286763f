"""Settings that a program changes while the session runs: their effect, and what they can't undo."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.agent.desk import Desk, call, reply, script
from tests.agent.stream import Talk, control, user

Json = dict[str, Any]
MakeDesk = Callable[[Json], Desk]
LIST = reply(call("Bash", command="ls", description="List"))
TOUCH = reply(call("Bash", command="touch made", description="Make"))


def send(talk: Talk, subtype: str, **fields: Any) -> Json:
    talk.say(control("r", subtype=subtype, **fields))
    return dict(talk.until("control_response")["response"])


def apply(talk: Talk, **settings: Any) -> None:
    answer = send(talk, "apply_flag_settings", settings=settings)
    assert answer["subtype"] == "success", answer


def say(talk: Talk) -> list[str]:
    """Say something, and return the tools whose calls were denied."""
    talk.say(user("go"))
    return [one["tool_name"] for one in talk.until("result")["permission_denials"]]


def test_rules_of_a_program_hold_from_the_next_call_until_they_are_replaced(desk: MakeDesk) -> None:
    talk = Talk(desk(script(LIST, "1", LIST, "2", TOUCH, "3", LIST, "4", TOUCH, "5")))
    assert say(talk) == []
    apply(talk, permissions={"deny": ["Bash(ls:*)"]})
    assert say(talk) == ["Bash"]
    apply(talk, permissions={"allow": ["Bash(touch:*)"]})
    assert (say(talk), say(talk)) == ([], [])
    apply(talk, permissions=None)
    assert say(talk) == ["Bash"]
    talk.end()


@pytest.mark.parametrize(
    "more",
    [("--disallowedTools", "Bash(ls:*)"), ("--settings", '{"permissions": {"deny": ["Bash(ls:*)"]}}'), ()],
)
def test_no_request_lifts_what_an_option_or_a_file_forbids(desk: MakeDesk, more: tuple[str, ...]) -> None:
    here = desk(script(LIST, "1", LIST, "2"))
    if not more:
        (here.config / "settings.json").write_text('{"permissions": {"deny": ["Bash(ls:*)"]}}')
    talk = Talk(here, *more)
    apply(talk, permissions={"allow": ["Bash(ls:*)", "Bash"]})
    assert say(talk) == ["Bash"]
    apply(talk, permissions=None)
    assert say(talk) == ["Bash"]
    talk.end()


def test_a_mode_in_the_settings_of_a_program_changes_nothing(desk: MakeDesk) -> None:
    here = desk(script(TOUCH, "1"))
    talk = Talk(here)
    apply(talk, permissions={"defaultMode": "bypassPermissions"})
    assert say(talk) == ["Bash"]
    assert not (here.cwd / "made").exists()
    talk.end()


def test_model_and_effort_are_those_of_the_next_request_and_null_means_the_default(desk: MakeDesk) -> None:
    here = desk(script(*map(str, range(5))))
    (here.config / "settings.json").write_text('{"model": "claude-opus-4-8", "effortLevel": "low"}')
    talk = Talk(here)
    say(talk)
    apply(talk, model="haiku")
    say(talk)
    apply(talk, model=None, effortLevel="max")
    say(talk)
    apply(talk, effortLevel=None)
    say(talk)
    apply(talk, effortLevel="silly")  # a value that is ignored, as in the client's own settings
    say(talk)
    models = [body["model"] for body in here.requests]
    assert (models[0], "haiku" in models[1], models[2] not in models[:2]) == ("claude-opus-4-8", True, True)
    efforts = [body.get("output_config", {}).get("effort") for body in here.requests]
    assert (efforts[0], efforts[2], efforts[3], efforts[4]) == ("low", "max", "medium", "medium")
    assert talk.end() == 0


def test_a_style_takes_effect_in_the_running_session(desk: MakeDesk) -> None:
    here = desk(script("1", "2", "3"))
    talk = Talk(here)
    send(talk, "initialize", appendSystemPrompt="Be kind.")
    apply(talk, outputStyle="Explanatory")
    say(talk)
    apply(talk, outputStyle=None)
    say(talk)
    systems = [json.dumps(body["system"]) for body in here.requests]
    assert ["# Output style: Explanatory" in text for text in systems] == [True, False]
    assert all("Be kind." in text for text in systems)
    inits = [line["output_style"] for line in talk.told if line.get("subtype") == "init"]
    assert inits == ["Explanatory", "default"]
    assert talk.end() == 0


def test_hooks_and_variables_of_a_program_run_until_they_are_cleared(desk: MakeDesk) -> None:
    here = desk(script("1", "2", "3"))
    (here.config / "settings.json").write_text('{"env": {"FOO": "file"}}')
    talk = Talk(here)
    hook = {"type": "command", "command": 'echo "hooked by $FOO"'}
    apply(talk, hooks={"UserPromptSubmit": [{"hooks": [hook]}]}, env={"FOO": "program"})
    say(talk)
    apply(talk, env=None)
    say(talk)
    apply(talk, hooks=None)
    say(talk)
    sent = [json.dumps(body["messages"][-1]) for body in here.requests]
    assert ["hooked by program" in sent[0], "hooked by file" in sent[1], "hooked" in sent[2]] == [True, True, False]
    assert talk.end() == 0


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"permissions": "bad", "model": "haiku"}, "permissions"),
        ({"permissions": {"deny": "Bash"}, "model": "haiku"}, "permissions"),
        ({"hooks": {"PreToolUse": "bad"}, "model": "haiku"}, "hooks"),
        ({"model": 3}, "model"),
        ({"env": [], "model": 3}, "env, model"),
        ({"hooks": {"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "x"}]}]}, "model": "haiku"}, "prompt"),
        ([], "an array"),
        (None, "an object"),
    ],
)
def test_nothing_of_a_malformed_request_is_applied(desk: MakeDesk, settings: Any, named: str) -> None:
    here = desk(script(LIST, "1"))
    talk = Talk(here)
    apply(talk, permissions={"deny": ["Bash(ls:*)"]})
    answer = send(talk, "apply_flag_settings", settings=settings)
    assert (answer["subtype"], named in answer["error"]) == ("error", True)
    assert say(talk) == ["Bash"]  # what was set before stays in force
    assert "haiku" not in here.requests[0]["model"]
    talk.end()


# -- settings in files


def update(talk: Talk, source: str, **settings: Any) -> str:
    return str(send(talk, "update_settings", source=source, settings=settings).get("error", ""))


def test_a_style_is_written_and_applied_and_an_effort_is_kept_for_the_model(desk: MakeDesk) -> None:
    here = desk(script("1", "2"))
    here.trust()
    (here.config / "settings.json").write_text('{"effortLevel": "low", "other": [1]}')
    talk = Talk(here, "--model", "claude-opus-5-5")
    assert update(talk, "localSettings", outputStyle="Learning") == ""
    assert update(talk, "userSettings", effortLevel="high") == ""
    assert update(talk, "userSettings", effortLevel="max") == ""  # never written
    say(talk)
    assert talk.end() == 0
    assert json.loads((here.cwd / ".claude" / "settings.local.json").read_text()) == {"outputStyle": "Learning"}
    models = {"claude-opus-5-5": {"effortLevel": "high"}}
    written = json.loads((here.config / "settings.json").read_text())
    assert written == {"effortLevel": "low", "other": [1], "modelSettings": models}
    here.turnlog("-p", "next", "--model", "claude-opus-5-5")
    first, second = here.requests
    assert "# Output style: Learning" in json.dumps(first["system"])
    assert [one["output_config"]["effort"] for one in (first, second)] == ["low", "high"]


@pytest.mark.parametrize(
    ("source", "settings", "error"),
    [
        ("projectSettings", {"outputStyle": "x"}, "unsupported source"),
        ("localSettings", {"permissions": {"allow": ["Bash"]}}, "not allowed: permissions"),
        ("localSettings", {"outputStyle": "x", "hooks": {}}, "not allowed: hooks"),
        ("userSettings", {"outputStyle": "x"}, "not allowed: outputStyle"),
        ("localSettings", {"outputStyle": None}, "must be strings"),
        ("userSettings", {"effortLevel": "silly"}, "must be one of"),
        ("localSettings", {}, "at least one key"),
    ],
)
def test_a_program_writes_nothing_else(desk: MakeDesk, source: str, settings: Json, error: str) -> None:
    here = desk(script("1"))
    talk = Talk(here)
    assert error in update(talk, source, **settings)
    assert talk.end() == 0
    assert not (here.cwd / ".claude").exists()
    assert not (here.config / "settings.json").exists()


def test_a_source_that_the_session_leaves_out_is_not_written(desk: MakeDesk) -> None:
    here = desk(script("1"))
    talk = Talk(here, "--setting-sources", "user")
    assert "disabled for this session" in update(talk, "localSettings", outputStyle="Learning")
    assert update(talk, "userSettings", effortLevel="high") == ""
    assert talk.end() == 0
    assert not (here.cwd / ".claude").exists()


def test_a_link_out_of_the_project_is_not_written_through(desk: MakeDesk) -> None:
    here = desk(script("1"))
    outside = here.base / "outside.json"
    outside.write_text("{}")
    (here.cwd / ".claude").mkdir()
    (here.cwd / ".claude" / "settings.local.json").symlink_to(outside)
    talk = Talk(here)
    assert update(talk, "localSettings", outputStyle="Learning")
    assert talk.end() == 0
    assert outside.read_text() == "{}"
