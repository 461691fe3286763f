"""A program that allows a call may change its input; the call runs with that, as far as the rules let it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.agent.desk import Desk, call, reply, script
from tests.agent.stream import Json, Talk, user

MakeDesk = Callable[[dict[str, Any]], Desk]
ASKS = ("--permission-prompt-tool", "stdio")


def run_allowed_call(here: Desk, *words: str, **updated: Any) -> Json:
    """Return the result of a call that the program allows with another input."""
    talk = Talk(here, *ASKS, *words)
    talk.say(user("go"))
    talk.answer(talk.wait_for_request(), behavior="allow", updatedInput=updated)
    assert talk.until("result")["result"] == "Done."
    assert talk.end() == 0
    (block,) = here.requests[-1]["messages"][-1]["content"]
    found: Json = block
    return found


def test_the_call_runs_with_the_input_that_was_given_back(desk: MakeDesk) -> None:
    here = desk(script(reply(call("Bash", command="mkdir wanted")), "Done."))
    assert not run_allowed_call(here, command="mkdir changed && echo made it").get("is_error")
    assert [path.name for path in here.cwd.iterdir()] == ["changed"]


def test_a_file_is_written_where_the_program_wants_it(desk: MakeDesk) -> None:
    here = desk(script(reply(call("Write", file_path="a.txt", content="one")), "Done."))
    run_allowed_call(here, file_path=str(here.cwd / "b.txt"), content="two")
    assert [(path.name, path.read_text()) for path in here.cwd.iterdir()] == [("b.txt", "two")]


@pytest.mark.parametrize("command", ["rm -r keep", "mkdir other; rm -r keep", "echo $(rm -r keep)"])
def test_what_a_rule_denies_stays_denied(desk: MakeDesk, command: str) -> None:
    here = desk(script(reply(call("Bash", command="mkdir wanted")), "Done."))
    (here.cwd / "keep").mkdir()
    told = run_allowed_call(here, "--disallowedTools", "Bash(rm:*)", command=command)
    assert told["is_error"] is True
    assert "Bash(rm:*)" in told["content"]
    assert [path.name for path in here.cwd.iterdir()] == ["keep"]


@pytest.mark.parametrize("updated", [{}, {"command": 5}, {"command": "mkdir a", "unheard_of": 1}])
def test_an_input_that_the_tool_does_not_take_is_told_to_the_model(desk: MakeDesk, updated: Json) -> None:
    here = desk(script(reply(call("Bash", command="mkdir wanted")), "Done."))
    told = run_allowed_call(here, **updated)
    assert told["is_error"] is True
    assert "InputValidationError" in told["content"]
    assert list(here.cwd.iterdir()) == []


def test_the_session_keeps_what_the_model_asked_for_and_what_came_of_the_changed_call(desk: MakeDesk) -> None:
    here = desk(script(reply(call("Bash", command="echo wanted > a")), "Done."))
    run_allowed_call(here, command="echo changed")
    rows = json.dumps(here.session)
    assert "echo wanted > a" in rows
    assert '"stdout": "changed"' in rows


ALLOWED = {"behavior": "allow", "updatedInput": {"command": "mkdir made"}}


def answer_call(here: Desk, answer: Any) -> Json:
    """Return the result of a call that a program answers in this way."""
    talk = Talk(here, *ASKS)
    talk.say(user("go"))
    request = talk.wait_for_request()
    found = {"subtype": "success", "request_id": request["request_id"], "response": answer}
    talk.say({"type": "control_response", "response": found})
    assert talk.until("result")["result"] == "Done."
    assert talk.end() == 0
    (block,) = here.requests[-1]["messages"][-1]["content"]
    told: Json = block
    return told


@pytest.mark.parametrize(
    "answer",
    [
        {"behavior": "allow", "updatedInput": None},
        {"behavior": "allow", "updatedInput": []},
        {"behavior": "allow", "updatedInput": "mkdir made"},
        {**ALLOWED, "toolUseID": 5},
        {**ALLOWED, "updatedPermissions": [{"type": "addDirectories", "directories": ["/tmp"] * 4096}]},
        {**ALLOWED, "behavior": "ALLOW"},
        {**ALLOWED, "behavior": True},
        {"behavior": "ask"},
        {"behavior": "deny"},
        {"behavior": "deny", "message": None},
        {"behavior": "deny", "message": "no", "interrupt": None},
        {"behavior": "deny", "message": "no", "interrupt": 1},
        {},
    ],
)
def test_an_answer_that_is_not_valid_denies_the_call_in_the_client_s_words(desk: MakeDesk, answer: Json) -> None:
    here = desk(script(reply(call("Bash", command="mkdir wanted")), "Done."))
    told = answer_call(here, answer)
    assert told["is_error"] is True
    assert told["content"].startswith("The canUseTool callback returned an invalid permission result. Expected")
    assert list(here.cwd.iterdir()) == []


@pytest.mark.parametrize("answer", [None, [], "allow", True])
def test_an_answer_that_is_no_object_denies_the_call(desk: MakeDesk, answer: Any) -> None:
    here = desk(script(reply(call("Bash", command="mkdir wanted")), "Done."))
    assert answer_call(here, answer)["is_error"] is True
    assert list(here.cwd.iterdir()) == []


SESSION: Json = {"destination": "session"}
RULES: Json = {"type": "addRules", "behavior": "allow", **SESSION}


@pytest.mark.parametrize(
    "update",
    [
        {"type": "setMode", "mode": "acceptEdits"},
        {"type": "setMode", "mode": "acceptEdits", "destination": "nowhere"},
        {**RULES, "rules": [{"toolName": "Bash", "ruleContent": None}]},
        {**RULES, "rules": [{"toolName": "Bash", "ruleContent": 5}]},
        {**RULES, "rules": [{"toolName": "Bash", "ruleContent": ""}]},
        {**RULES, "rules": [{"toolName": "Bash"}, "Bash"]},
        {**RULES, "rules": {"toolName": "Bash"}},
        {**RULES, "rules": 5},
        {**RULES, "rules": [{"toolName": "Bash"}], "destination": "nowhere"},
        {**RULES, "rules": [{"toolName": "Bash"}], "destination": None},
        {"type": "addDirectories", "directories": "/", **SESSION},
        {"type": "addDirectories", "directories": ["/", None], **SESSION},
        {"type": "addDirectories", "directories": {"/": 1}, **SESSION},
    ],
)
def test_a_change_of_permissions_that_is_not_valid_changes_nothing(desk: MakeDesk, update: Json) -> None:
    write = call("Write", file_path="../new.txt", content="x")
    edit = call("Write", file_path="new.txt", content="x")
    run = call("Bash", command="mkdir wanted")
    here = desk(script(reply(call("Bash", command="mkdir first")), reply(write), reply(edit), reply(run), "Done."))
    talk = Talk(here, *ASKS)
    talk.say(user("go"))
    talk.answer(
        talk.wait_for_request(), behavior="allow", updatedInput={"command": "true"}, updatedPermissions=[update]
    )
    for _ in range(3):
        talk.answer(talk.wait_for_request(), behavior="deny", message="no")
    assert talk.until("result")["result"] == "Done."
    assert talk.end() == 0
    assert list(here.cwd.iterdir()) == []


@pytest.mark.parametrize(
    "decision",
    [
        {"behavior": "allow", "updatedInput": None},
        {"behavior": "allow", "updatedInput": []},
        {"behavior": "deny", "message": 5},
        {"behavior": "deny", "message": "no", "interrupt": "true"},
    ],
)
def test_a_hook_s_answer_to_a_permission_request_that_is_not_valid_decides_nothing(
    desk: MakeDesk, decision: Json
) -> None:
    here = desk(script(reply(call("Bash", command="mkdir wanted")), "Done."))
    printed = json.dumps({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}})
    (here.base / "printed").write_text(printed)
    hook = {"type": "command", "command": f"cat {here.base}/printed"}
    settings = {"hooks": {"PermissionRequest": [{"hooks": [hook]}]}}
    (here.config / "settings.json").write_text(json.dumps(settings))
    assert answer_call(here, {"behavior": "deny", "message": "the program decides"})["content"] == "the program decides"
    assert list(here.cwd.iterdir()) == []
