"""The events of calls: their outcome, sub-agents, lists of tasks, questions and plans."""

from __future__ import annotations

from typing import Any

import pytest

from tests.live.events.event_list import list_events, list_kinds, read_events
from tests.session.build import Build, use

TASK_NOTICE = (
    "<task-notification>\n<task-id>{task}</task-id>\n<tool-use-id>{call}</tool-use-id>\n<status>{status}</status>\n"
    '<summary>Agent "Small job" finished</summary>\n</task-notification>'
)


def notice(task: str, call: str = "", status: str = "completed") -> str:
    return TASK_NOTICE.format(task=task, call=call, status=status)


def build_thinking(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": "c2ln"}


def started_async(agent: str) -> dict[str, Any]:
    return {"isAsync": True, "status": "async_launched", "agentId": agent}


# -- calls and results


def test_a_call_and_its_result() -> None:
    build = Build(step=2)
    build.prompt("go")
    build.call("c1", "Read", {"file_path": "/home/dana/webshop/cart.py"})
    build.result("c1", "1\tdef total")
    call = {"call": "c1", "tool": "Read", "category": "read"}
    assert list_events(build, "call", "result") == [
        {"event": "call", **call, "title": "cart.py"},
        {"event": "result", **call, "outcome": "ok", "text": "1\tdef total", "seconds": 2.0},
    ]


@pytest.mark.parametrize(
    ("content", "error", "fields", "outcome"),
    [
        ("ok", None, {"toolUseResult": {"stdout": "ok", "interrupted": False}}, "ok"),
        ("ok", False, {}, "ok"),
        ("Exit code 1\nno such file", True, {"toolUseResult": "Error: Exit code 1"}, "failed"),
        ("Exit code 2\n", None, {}, "failed"),
        ("<tool_use_error>File does not exist.</tool_use_error>", None, {"toolUseResult": "Error: x"}, "failed"),
        ("Exit code 1\nis what it prints", None, {"toolUseResult": {"stdout": "Exit code 1"}}, "ok"),
        ("The user doesn't want to proceed with this tool use.", True, {"toolUseResult": "User rejected"}, "rejected"),
        ("needs approval", True, {"toolDenialKind": "permission"}, "rejected"),
        ("Exit code 137\n[Request interrupted by user for tool use]", True, {}, "interrupted"),
        ("half", None, {"toolUseResult": {"stdout": "half", "interrupted": True}}, "interrupted"),
        ("running", None, {"toolUseResult": {"stdout": "", "backgroundTaskId": "b1"}}, "background"),
        ("User rejected the offer, says the log", None, {"toolUseResult": {"stdout": "User rejected"}}, "ok"),
        ("[Request interrupted by user] is in the log", None, {"toolUseResult": {"stdout": "x"}}, "ok"),
    ],
)
def test_the_result_decides_the_outcome_of_a_command(
    content: str, error: bool | None, fields: dict[str, Any], outcome: str
) -> None:
    build = Build()
    build.prompt("go")
    build.call("c1", "Bash")
    build.result("c1", content, error=error, **fields)
    assert [event["outcome"] for event in list_events(build, "result")] == [outcome]
    assert [event["call"] for event in list_events(build, "error")] == (["c1"] if outcome == "failed" else [])


def test_a_call_has_no_outcome_before_its_result() -> None:
    build = Build()
    build.prompt("go")
    build.call("c1", "Bash")
    assert list_kinds(build) == ["prompt", "call"]


def test_a_result_that_was_written_before_its_call_is_not_lost() -> None:
    build = Build()
    build.prompt("go")
    build.result("c1", "Exit code 1\n" + "x" * 9000, error=True)
    build.call("c1", "Bash")
    assert list_kinds(build) == ["prompt", "call", "result", "error"]
    assert [event["outcome"] for event in list_events(build, "result")] == ["failed"]


def test_a_result_without_a_call_produces_nothing() -> None:
    build = Build()
    build.prompt("go")
    build.result("elsewhere")
    assert list_kinds(build) == ["prompt"]


def test_the_parts_of_a_message_on_several_lines_count_once_each() -> None:
    build = Build("2.0.76")
    build.prompt("go")
    build.answer(build_thinking("hm"), id="m1", stop=None)
    build.answer("I look.", id="m1", stop=None)
    build.answer(use("c1", "Read"), id="m1", stop=None)
    build.answer(use("c2", "Read"), id="m1", stop="tool_use")
    build.answer(
        build_thinking("hm"), "I look.", use("c1", "Read"), use("c2", "Read"), id="m1"
    )  # written again on resume
    assert list_kinds(build) == ["prompt", "think", "text", "call", "call"]


def test_equal_texts_of_different_messages_or_of_one_line_are_all_there() -> None:
    build = Build()
    build.prompt("go")
    build.answer("Fine.", "Fine.", id="m1")
    build.prompt("more")
    build.answer("Fine.", id="m2")
    assert len(list_events(build, "text")) == 3


def test_an_entry_that_is_written_twice_counts_once() -> None:
    build = Build()
    build.prompt("go", "u1")
    build.answer("done", uuid="a1")
    build.lines += build.lines
    assert list_kinds(build) == ["prompt", "text", "turn-finish"]


def test_a_call_without_an_id_still_counts() -> None:
    build = Build()
    build.answer(use(None, "Read"), use(7, "Read"), stop="tool_use")
    calls = [event["call"] for event in list_events(build, "call")]
    assert len(calls) == len(set(calls)) == 2


def test_a_call_that_the_api_runs_itself_has_its_result_in_the_answer() -> None:
    build = Build()
    build.prompt("go")
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "cents"}}
    build.answer(search, {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}, "Found.", id="m1")
    assert [(event["category"], event["outcome"]) for event in list_events(build, "result")] == [("web", "ok")]


def test_a_background_command_has_a_second_result_when_it_ends() -> None:
    build = Build()
    build.prompt("go")
    build.call("c1", "Bash")
    build.result("c1", "running", toolUseResult={"stdout": "", "backgroundTaskId": "b1"})
    build.answer("It runs.")
    build.prompt(
        "<task-notification><task-id>b1</task-id><status>completed</status>"
        "<summary>Background command completed (exit code 3)</summary></task-notification>"
    )
    assert [event["outcome"] for event in list_events(build, "result")] == ["background", "failed"]


def test_calls_that_a_new_prompt_abandons_are_interrupted() -> None:
    build = Build()
    build.prompt("go")
    build.call("c1", "Bash")
    build.prompt("start again")
    assert [event["outcome"] for event in list_events(build, "result")] == ["interrupted"]
    assert [event.confidence for event in read_events(build.data())][-2:] == ["inferred", "sure"]


# -- sub-agents


@pytest.mark.parametrize("tool", ["Task", "Agent"])
def test_each_sub_agent_starts_and_finishes_on_its_own(tool: str) -> None:
    build = Build("2.0.76")
    build.prompt("go")
    for number in (1, 2):
        given = {"description": f"job {number}", "subagent_type": "Explore", "prompt": "…"}
        build.call(f"c{number}", tool, given, id="m1")
    build.result("c2", "done", toolUseResult={"status": "completed", "agentId": "a2"})
    first = {"event": "agent-start", "call": "c1", "agent_type": "Explore", "description": "job 1"}
    assert list_events(build, "agent-start")[0] == first
    assert list_events(build, "agent-finish") == [
        {"event": "agent-finish", "call": "c2", "agent": "a2", "outcome": "ok"}
    ]


@pytest.mark.parametrize("carrier", ["prompt", "attachment", "queue"])
@pytest.mark.parametrize("named", ["task", "call"])
def test_a_background_agent_finishes_with_its_notification_and_no_other_does(carrier: str, named: str) -> None:
    build = Build()
    build.prompt("go")
    for number in (1, 2, 3):
        build.call(f"c{number}", "Agent", {"description": "job"}, id="m1")
        build.result(f"c{number}", "Async agent launched", toolUseResult=started_async(f"a{number}"))
    build.answer("They work.")
    assert list_events(build, "agent-finish") == []
    text = notice("a2") if named == "task" else notice("", "c2")
    for _ in range(2):  # the same notification may come again
        if carrier == "prompt":
            build.prompt(text)
        elif carrier == "attachment":
            build.attachment("queued_command", prompt=text, commandMode="task-notification")
        else:
            build.note("queue-operation", operation="enqueue", content=text)
    assert list_events(build, "agent-finish") == [
        {"event": "agent-finish", "call": "c2", "agent": "a2", "outcome": "ok"}
    ]


@pytest.mark.parametrize(
    ("status", "outcomes"),
    [("failed", ["failed"]), ("killed", ["interrupted"]), ("completed", ["ok"]), ("running", [])],
)
def test_a_notification_says_how_an_agent_ended(status: str, outcomes: list[str]) -> None:
    build = Build()
    build.prompt("go")
    build.call("c1", "Agent", {})
    build.result("c1", "launched", toolUseResult=started_async("a1"))
    build.prompt(notice("a1", "c1", status))
    assert [event["outcome"] for event in list_events(build, "agent-finish")] == outcomes


def test_the_words_of_a_result_tell_what_a_missing_record_would() -> None:
    build = Build()
    build.prompt("go")
    build.call("c1", "Agent", {})
    build.result("c1", "Async agent launched successfully.\nagentId: a1 (internal ID)")
    build.call("c2", "Task", {})
    build.result("c2", "Apples cost 3.\nagentId: a2 (for resuming)")
    build.call("c3", "Bash")
    build.result("c3", "Command running in background with ID: b1. Output is being written to: x")
    build.prompt(notice("a1"))
    build.prompt(notice("b1"))
    assert [event["outcome"] for event in list_events(build, "result", actor="x")] == [
        "background", "ok", "background", "ok",
    ]  # fmt: skip
    finished = [(event["call"], event["agent"]) for event in list_events(build, "agent-finish", actor="x")]
    assert finished == [("c2", "a2"), ("c1", "a1")]


def test_an_agent_that_was_stopped_has_finished() -> None:
    build = Build()
    build.prompt("go")
    build.call("c1", "Agent", {})
    build.result("c1", "launched", toolUseResult=started_async("a1"))
    build.call("c2", "TaskStop", {"task_id": "a1"})
    build.result("c2", "stopped", toolUseResult={"message": "stopped"})
    assert [(event["call"], event["outcome"]) for event in list_events(build, "agent-finish")] == [
        ("c1", "interrupted")
    ]


def test_an_agent_whose_call_failed_has_failed() -> None:
    build = Build()
    build.prompt("go")
    build.call("c1", "Agent", {"subagent_type": "x"})
    build.result("c1", "<tool_use_error>Agent type 'x' not found</tool_use_error>", error=True)
    assert [event["outcome"] for event in list_events(build, "agent-finish")] == ["failed"]


def test_an_interrupt_finishes_the_agents_that_have_no_result() -> None:
    build = Build()
    build.prompt("go")
    build.call("c1", "Task", {})
    build.interrupt()
    assert list_kinds(build) == ["prompt", "call", "agent-start", "result", "agent-finish", "interrupt"]


def test_a_sub_agent_inside_the_file_is_an_actor_of_its_own() -> None:
    build = Build("1.0.128")
    build.prompt("go", "u1")
    build.call("c1", "Task", {"description": "job"}, uuid="a1")
    for number in (1, 2):
        build.prompt("explore", f"s{number}", parent=None, isSidechain=True)
        build.call(f"x{number}", "Read", {}, uuid=f"t{number}", isSidechain=True)
    build.result("x1", parent="t1", isSidechain=True, uuid="r1")
    build.result("c1", parent="a1")
    actors = [(event.actor, type(event).__struct_config__.tag) for event in read_events(build.data())]
    assert actors[4:] == [
        ("inline-1", "prompt"), ("inline-1", "call"), ("inline-2", "prompt"), ("inline-2", "call"),
        ("inline-1", "result"), ("main", "result"), ("main", "agent-finish"),
    ]  # fmt: skip


def test_a_side_chain_that_pretends_to_be_the_session_is_not() -> None:
    build = Build()
    build.prompt("go", isSidechain=True, agentId="main")
    assert [event.actor for event in read_events(build.data())] == ["agent-main"]


def test_lines_of_sub_agents_that_older_clients_repeat_produce_nothing() -> None:
    build = Build("2.1.29")
    build.prompt("go")
    build.progress(type="agent_progress", agentId="a1", message={"type": "user", "message": {"content": "explore"}})
    assert list_kinds(build) == ["prompt"]


# -- todos


def test_a_todo_list_is_complete_after_each_change() -> None:
    build = Build("2.0.76")
    build.prompt("go")
    for number, status in enumerate(["in_progress", "completed", "completed"]):
        todos = [{"content": "Add discount", "status": status, "activeForm": "Adding"}, {"content": "Test it"}]
        build.call(f"c{number}", "TodoWrite", {"todos": todos})
        build.result(f"c{number}", "Todos have been modified successfully.")
    assert [event["items"] for event in list_events(build, "todos")] == [
        [{"text": "Add discount", "status": status}, {"text": "Test it", "status": "pending"}]
        for status in ("in_progress", "completed")
    ]


def test_tasks_that_newer_clients_change_one_by_one_are_a_list_too() -> None:
    build = Build()
    build.prompt("go")
    for number, subject in enumerate(["Add discount", "Test it"], 1):
        build.call(f"c{number}", "TaskCreate", {"subject": subject, "description": "…"})
        build.result(f"c{number}", f"Task #{number} created", toolUseResult={"task": {"id": str(number)}})
    build.call("c3", "TaskUpdate", {"taskId": "1", "status": "completed"})
    build.result("c3", "Updated task #1 status", toolUseResult={"success": True, "taskId": "1"})
    build.call("c4", "TaskUpdate", {"taskId": "2", "status": "deleted"})
    build.result("c4", "Updated task #2", toolUseResult={"success": True})
    build.call("c5", "TaskUpdate", {"taskId": "1", "status": "pending"})
    build.result("c5", "no", toolUseResult={"success": False})
    assert [[(item["text"], item["status"]) for item in event["items"]] for event in list_events(build, "todos")] == [
        [("Add discount", "pending")],
        [("Add discount", "pending"), ("Test it", "pending")],
        [("Add discount", "completed"), ("Test it", "pending")],
        [("Add discount", "completed")],
    ]


def test_a_list_that_was_refused_does_not_change() -> None:
    build = Build()
    build.prompt("go")
    build.call("c1", "TodoWrite", {"todos": [{"content": "x"}]})
    build.result("c1", "<tool_use_error>bad</tool_use_error>", error=True)
    assert list_events(build, "todos") == []


def test_tasks_of_a_sub_agent_are_numbered_by_the_text_of_their_results() -> None:
    build = Build("2.1.45")
    build.prompt("go")
    build.call("c1", "TaskCreate", {"subject": "Look"})
    build.result("c1", "Task #4 created successfully: Look")
    build.call("c2", "TaskUpdate", {"taskId": "4", "status": "in_progress"})
    build.result("c2", "Updated")
    assert list_events(build, "todos", actor="a1")[-1]["items"] == [{"text": "Look", "status": "in_progress"}]


def test_a_list_of_tasks_corrects_what_was_known() -> None:
    build = Build()
    build.call("c1", "TaskList", {})
    build.result("c1", "#1 …", toolUseResult={"tasks": [{"id": "1", "subject": "Old", "status": "completed"}]})
    assert list_events(build, "todos")[-1]["items"] == [{"text": "Old", "status": "completed"}]


# -- questions and plans


def test_a_question() -> None:
    build = Build()
    build.prompt("go")
    build.call("c1", "AskUserQuestion", {"questions": [{"question": "Cents?", "options": []}, {"header": "Tax"}]})
    assert list_events(build, "question") == [{"event": "question", "call": "c1", "questions": ["Cents?", "Tax"]}]


def test_a_plan() -> None:
    build = Build()
    build.prompt("go")
    build.call("c1", "ExitPlanMode", {"plan": "# Plan\n1. Test"})
    assert list_events(build, "plan") == [{"event": "plan", "call": "c1", "text": "# Plan\n1. Test"}]
