"""What a turn waits for goes on in the background at the request of a program (`background_tasks`)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.agent.desk import Desk, call, reply, script
from tests.agent.stream import Talk, control, user
from tests.agent.waits import wait_until

Json = dict[str, Any]
MakeDesk = Callable[[Json], Desk]
WAIT = call("Bash", command="touch waits; until [ -e go ]; do sleep 0.02; done; echo over", description="Wait")
LOOK = call("Task", description="Look", prompt="Look around", run_in_background=False)


def with_agent(*answers: Any) -> Json:
    found = script(reply(LOOK), "Waiting.", "So it is.")
    found["conversations"].insert(0, {"kind": "agent", "replies": list(answers)})
    return found


def begin(here: Desk, **environ: str) -> Talk:
    """Start a turn, and wait until the command runs."""
    talk = Talk(here, "--permission-mode", "bypassPermissions", environ=environ)
    talk.say(user("go"))
    wait_until((here.cwd / "waits").exists)
    return talk


def send(talk: Talk, **fields: Any) -> Json:
    talk.say(control("r", subtype="background_tasks", **fields))
    return dict(talk.until("control_response")["response"])


def wait_for_start(talk: Talk) -> Json:
    while True:
        line = talk.until("system")
        if line["subtype"] == "task_started":
            return line


def list_results(talk: Talk) -> list[Json]:
    return [line for line in talk.told if line["type"] == "user" and "tool_use_result" in line]


def test_a_command_goes_on_in_the_background_and_the_turn_continues(desk: MakeDesk) -> None:
    here = desk(script(reply(WAIT), "After.", "Heard."))
    talk = begin(here)
    assert send(talk, tool_use_id="toolu_other")["response"] == {"backgrounded": False}
    assert send(talk)["response"] == {}
    assert talk.until("result")["result"] == "After."
    (result,) = list_results(talk)
    assert result["message"]["content"][0]["content"].startswith("Command was manually backgrounded by user with ID: b")
    assert result["tool_use_result"]["backgroundedByUser"] is True
    (here.cwd / "go").touch()
    assert talk.until("result")["result"] == "Heard."
    (ended,) = [line for line in talk.told if line.get("subtype") == "task_notification"]
    assert (ended["task_id"], ended["status"]) == (result["tool_use_result"]["backgroundTaskId"], "completed")
    assert Path(ended["output_file"]).read_text() == "over\n"
    assert talk.end() == 0


def test_a_sub_agent_goes_on_in_the_background_and_its_report_starts_a_turn(desk: MakeDesk) -> None:
    here = desk(with_agent(reply(WAIT), "All is well there."))
    talk = begin(here)
    started = wait_for_start(talk)
    assert send(talk, tool_use_id=started["tool_use_id"])["response"] == {"backgrounded": True}
    assert send(talk, tool_use_id=started["tool_use_id"])["response"] == {"backgrounded": False}
    assert talk.until("result")["result"] == "Waiting."
    assert {"is_backgrounded": True} in [line.get("patch") for line in talk.told]
    (launched,) = [line["tool_use_result"] for line in list_results(talk)]
    assert (launched["status"], launched["agentId"]) == ("async_launched", started["task_id"])
    (here.cwd / "go").touch()
    assert talk.until("result")["result"] == "So it is."
    assert "All is well there." in json.dumps(here.requests[-1]["messages"][-1])
    lists = [line["tasks"] for line in talk.told if line.get("subtype") == "background_tasks_changed"]
    assert [[task["task_id"] for task in tasks] for tasks in lists] == [[started["task_id"]], []]
    assert talk.end() == 0


def test_the_command_of_a_sub_agent_is_moved_only_by_the_id_of_its_call(desk: MakeDesk) -> None:
    here = desk(with_agent(reply({**WAIT, "id": "toolu_inner"}), "Moved on."))
    talk = begin(here)
    assert send(talk, tool_use_id="toolu_inner")["response"] == {"backgrounded": True}
    assert talk.until("result")["result"] == "Waiting."
    (report,) = [one for one in here.requests if "Command was manually backgrounded" in json.dumps(one["messages"][-1])]
    assert "Look around" in json.dumps(report["messages"][0])
    (here.cwd / "go").touch()
    assert talk.end() == 0


def test_an_interrupt_ends_a_sub_agent_that_the_turn_waits_for(desk: MakeDesk) -> None:
    here = desk(with_agent(reply(WAIT), "never"))
    talk = begin(here)
    talk.say(control("stop", subtype="interrupt"))
    assert talk.until("result")["subtype"] == "error_during_execution"
    (ended,) = [line for line in talk.told if line.get("subtype") == "task_notification"]
    assert ended["status"] == "stopped"
    talk.end()


def test_nothing_is_moved_where_the_background_is_disabled(desk: MakeDesk) -> None:
    here = desk(script(reply(WAIT), "After."))
    talk = begin(here, CLAUDE_CODE_DISABLE_BACKGROUND_TASKS="1")
    assert send(talk)["error"] == "Background tasks are disabled in this session."
    (here.cwd / "go").touch()
    assert talk.until("result")["result"] == "After."
    assert "over" in list_results(talk)[0]["message"]["content"][0]["content"]
    assert talk.end() == 0
