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
    """What the model is told of its call, which the program allows with another input."""
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
