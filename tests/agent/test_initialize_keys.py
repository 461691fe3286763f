"""Keys of `initialize` that change how a session works with the model and the program."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.agent.desk import Desk, call, reply, says, script
from tests.agent.stream import Talk, control, user
from tests.agent.waits import wait_until

Json = dict[str, Any]
MakeDesk = Callable[[Json], Desk]
BYPASS = ("--permission-mode", "bypassPermissions")
WAIT = call("Bash", command="touch waits; until [ -e go ]; do sleep 0.02; done", description="Wait")


def send(talk: Talk, subtype: str, **fields: Any) -> Json:
    talk.say(control("r", subtype=subtype, **fields))
    return dict(talk.until("control_response")["response"].get("response") or {})


def say(talk: Talk, text: str = "go") -> Json:
    talk.say(user(text))
    return talk.until("result")


def results(here: Desk) -> list[Json]:
    blocks = [block for message in here.requests[-1]["messages"] for block in message["content"]]
    return [block for block in blocks if isinstance(block, dict) and block["type"] == "tool_result"]


# -- tools under other names


def test_another_tool_runs_in_place_of_the_one_that_the_model_calls(desk: MakeDesk) -> None:
    here = desk(script(reply(call("view", file_path="a.txt")), reply(call("Read", command="echo run")), "Done."))
    (here.cwd / "a.txt").write_text("hello")
    talk = Talk(here, *BYPASS)
    send(talk, "initialize", toolAliases={"view": "Read", "Read": "Bash", "bad": 3})
    assert say(talk)["result"] == "Done."
    assert ["hello" in results(here)[0]["content"], "run" in results(here)[1]["content"]] == [True, True]
    calls = [block["name"] for row in here.session if row["type"] == "assistant" for block in row["message"]["content"]
             if block["type"] == "tool_use"]  # fmt: skip
    assert calls == ["view", "Read"]  # the session keeps what the model wrote
    assert talk.end() == 0


def test_a_call_under_another_name_needs_the_permission_of_the_tool_that_runs(desk: MakeDesk) -> None:
    here = desk(script(reply(call("Read", command="touch made")), reply(call("Glob", command="touch made")), "Done."))
    talk = Talk(here, "--allowedTools", "Read", "--disallowedTools", "Bash(touch:*)")
    send(talk, "initialize", toolAliases={"Read": "Bash", "Glob": "Read"})
    denied = say(talk)["permission_denials"]
    assert [one["tool_name"] for one in denied] == ["Bash"]
    assert not (here.cwd / "made").exists()
    talk.end()


# -- plan mode


def test_a_program_says_how_to_plan_and_the_frame_stays(desk: MakeDesk) -> None:
    here = desk(script("1", "2", "3"))
    talk = Talk(here, "--permission-mode", "plan")
    send(talk, "initialize", planModeInstructions="Interview the person first.")
    say(talk)
    sent = json.dumps(here.requests[0]["messages"])
    for part in ("calls that would change something are denied", "Interview the person first.", "with ExitPlanMode"):
        assert sent.count(part) == 1
    assert "ask about open points" not in sent
    send(talk, "set_permission_mode", mode="default")
    say(talk)
    send(talk, "set_permission_mode", mode="plan")
    say(talk)
    assert "Interview the person first." in json.dumps(here.requests[2]["messages"][-1])
    assert talk.end() == 0


# -- sub-agents


def with_agent(background: bool, *answers: Any) -> Json:
    look = call("Task", description="Look", prompt="Look around", run_in_background=background)
    found = script(reply(look), "Waiting.", "So it is.")
    found["conversations"].insert(0, {"kind": "agent", "replies": list(answers)})
    return found


@pytest.mark.parametrize("forwards", [True, False, None])
def test_the_text_of_a_sub_agent_is_forwarded_on_demand(desk: MakeDesk, forwards: bool | None) -> None:
    here = desk(with_agent(False, reply(says("I look."), call("Bash", command="ls", description="d")), "Report."))
    talk = Talk(here, *BYPASS)
    send(talk, "initialize", **({} if forwards is None else {"forwardSubagentText": forwards}))
    assert say(talk)["result"] == "Waiting."
    inner = [line["message"]["content"] for line in talk.told if line.get("parent_tool_use_id")]
    kinds = [block["type"] for content in inner for block in content]
    assert kinds == (
        ["text", "text", "tool_use", "tool_result", "text"] if forwards else ["text", "tool_use", "tool_result"]
    )
    assert inner[0][0]["text"] == "Look around"
    assert talk.end() == 0


def test_the_text_of_a_sub_agent_in_the_background_is_always_forwarded(desk: MakeDesk) -> None:
    here = desk(with_agent(True, {**reply(says("Report.")), "after": {"main": 2}}))
    talk = Talk(here, *BYPASS)
    say(talk)
    talk.until("result")
    inner = [line["message"]["content"][0] for line in talk.told if line.get("parent_tool_use_id")]
    assert [block["text"] for block in inner if block["type"] == "text"] == ["Report."]
    assert talk.end() == 0


@pytest.mark.parametrize("spares", [True, False])
def test_an_interrupt_ends_sub_agents_that_the_person_could_not_stop(desk: MakeDesk, spares: bool) -> None:
    look = call("Task", description="Look", prompt="Look around", run_in_background=True)
    hold = call("Bash", command="touch holds; sleep 600 & wait", description="Hold")
    scenario = script(reply(look), reply(hold), "So it is.")
    scenario["conversations"].insert(0, {"kind": "agent", "replies": [reply(WAIT), "Report."]})
    here = desk(scenario)
    talk = Talk(here, *BYPASS)
    send(talk, "initialize", perTaskStopAffordance=spares)
    talk.say(user("go"))
    wait_until((here.cwd / "waits").exists)
    wait_until((here.cwd / "holds").exists)
    talk.say(control("stop", subtype="interrupt"))
    talk.until("result")
    if spares:
        (here.cwd / "go").touch()
        assert talk.until("result")["result"] == "So it is."
    while not any(line.get("subtype") == "task_notification" for line in talk.told):
        talk.until("system")
    ended = [line["status"] for line in talk.told if line.get("subtype") == "task_notification"]
    assert ended == ["completed" if spares else "stopped"]
    talk.end()


# -- hooks


def test_hooks_of_a_repeated_request_replace_the_earlier_ones(desk: MakeDesk) -> None:
    here = desk(script("1", "2", "3"))
    talk = Talk(here)
    first = send(talk, "initialize", hooks={"UserPromptSubmit": [{"hookCallbackIds": ["old"]}]})
    assert (first["hooks_applied"], first["hook_on_failure_supported"]) == (True, True)
    assert "hooks_applied" not in send(talk, "initialize")
    talk.say(user("one"))
    waiting = talk.wait_for_request()
    assert waiting["request"]["callback_id"] == "old"
    assert send(talk, "initialize", hooks={"UserPromptSubmit": [{"hookCallbackIds": ["new"]}]})["hooks_applied"] is True
    talk.until("result")  # the prompt was blocked: nobody can say any more whether it may be sent
    assert here.requests == []
    cancelled = [line["request_id"] for line in talk.told if line["type"] == "control_cancel_request"]
    assert cancelled == [waiting["request_id"]]
    talk.say(user("two"))
    asked = talk.wait_for_request()
    assert asked["request"]["callback_id"] == "new"
    talk.answer(asked)
    assert talk.until("result")["result"] == "1"
    send(talk, "initialize", hooks={})
    assert say(talk)["result"] == "2"
    assert talk.end() == 0


def test_a_call_that_waits_for_a_replaced_hook_is_denied(desk: MakeDesk) -> None:
    here = desk(script(reply(call("Bash", command="touch made", description="Make")), "Done."))
    talk = Talk(here, *BYPASS)
    send(talk, "initialize", hooks={"PreToolUse": [{"hookCallbackIds": ["old"]}]})
    talk.say(user("one"))
    talk.wait_for_request()
    send(talk, "initialize", hooks={"PreToolUse": [{"hookCallbackIds": ["new"]}]})
    assert [one["tool_name"] for one in talk.until("result")["permission_denials"]] == ["Bash"]
    assert not (here.cwd / "made").exists()
    talk.end()


@pytest.mark.parametrize("blocks", [True, False])
def test_a_callback_that_fails_blocks_what_it_guards_if_the_program_says_so(desk: MakeDesk, blocks: bool) -> None:
    here = desk(script(reply(call("Bash", command="touch made", description="Make")), "Done."))
    talk = Talk(here, *BYPASS)
    hook: Json = {"hookCallbackIds": ["a"], **({"onFailure": "block"} if blocks else {})}
    send(talk, "initialize", hooks={"PreToolUse": [hook]})
    talk.say(user("one"))
    asked = talk.wait_for_request()
    failure = {"subtype": "error", "request_id": asked["request_id"], "error": "it broke"}
    talk.say({"type": "control_response", "response": failure})
    assert talk.until("result")["result"] == "Done."
    assert (here.cwd / "made").exists() is not blocks
    assert ("it broke" in json.dumps(results(here))) is blocks
    talk.end()
