"""Print mode for programs: many prompts as lines of JSON, requests about the session, commands of the client."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.agent.api import hang
from tests.agent.desk import Desk, call, reply, says, script
from tests.agent.stream import STREAMS, Talk, control, fed, kinds, user

Json = dict[str, Any]
MakeDesk = Callable[[Json], Desk]


def test_each_message_is_a_turn_of_one_session(desk: MakeDesk) -> None:
    here = desk(script("One.", reply(call("Bash", command="echo hi")), "Two."))
    told = fed(here, user("first"), {"type": "unheard-of"}, user([says("second"), says("part")]))
    assert kinds(told) == ["init", "assistant", "success", "init", "assistant", "user", "assistant", "success"]
    results = [line for line in told if line["type"] == "result"]
    assert [line["result"] for line in results] == ["One.", "Two."]
    assert [line["num_turns"] for line in results] == [1, 2]
    assert results[1]["total_cost_usd"] > results[0]["total_cost_usd"]
    assert len({line["session_id"] for line in told}) == 1
    texts = [block.get("text") for message in here.requests[-1]["messages"] for block in message["content"]]
    assert [text for text in texts if text in ("first", "second", "part")] == ["first", "second", "part"]


def test_messages_are_said_again_on_request(desk: MakeDesk) -> None:
    name = "11111111-2222-4333-8444-555555555555"
    told = fed(desk(script("One.")), user("first", uuid=name), more=("--replay-user-messages",))
    assert kinds(told) == ["init", "user", "assistant", "success"]
    assert told[1]["isReplay"] is True
    assert (told[1]["message"], told[1]["uuid"]) == ({"role": "user", "content": "first"}, name)


def test_requests_about_the_session_are_answered(desk: MakeDesk) -> None:
    here = desk(script("One."))
    told = fed(
        here,
        control("a", subtype="initialize"),
        control("b", subtype="set_model", model="opus"),
        control("c", subtype="set_permission_mode", mode="plan"),
        control("d", subtype="set_permission_mode", mode="nonsense"),
        control("e", subtype="unheard-of"),
        user("first"),
    )
    answers = {line["response"]["request_id"]: line["response"] for line in told if line["type"] == "control_response"}
    assert [answers[name]["subtype"] for name in "abcde"] == ["success"] * 3 + ["error"] * 2
    assert "compact" in [command["name"] for command in answers["a"]["response"]["commands"]]
    (init,) = [line for line in told if line.get("subtype") == "init"]
    assert (init["model"], init["permissionMode"]) == ("claude-opus-5-5", "plan")
    assert "is in plan mode" in json.dumps(here.requests[-1]["messages"])


def test_the_mode_that_asks_nothing_is_refused_where_the_settings_forbid_it(desk: MakeDesk) -> None:
    here = desk(script("One."))
    (here.config / "settings.json").write_text('{"permissions": {"disableBypassPermissionsMode": "disable"}}')
    asked = control("a", subtype="set_permission_mode", mode="bypassPermissions")
    told = fed(here, asked, user("first"), more=("--allow-dangerously-skip-permissions",))
    (answer,) = [line["response"] for line in told if line["type"] == "control_response"]
    assert (answer["subtype"], "forbid" in answer["error"]) == ("error", True)
    (init,) = [line for line in told if line.get("subtype") == "init"]
    assert init["permissionMode"] == "default"


def test_a_program_interrupts_a_turn_and_goes_on(desk: MakeDesk) -> None:
    held = {**reply(says("word " * 40)), "do": hang(5)}
    talk = Talk(desk(script(held, "Second.")), "--include-partial-messages")
    talk.say(user("first"))
    talk.until("stream_event")
    talk.say(control("x", subtype="interrupt"), user("second"))
    assert talk.until("result")["subtype"] == "error_during_execution"
    assert talk.until("result")["result"] == "Second."
    assert talk.end() == 0


def has_made_file(here: Desk) -> bool:
    return (here.cwd / "made").exists()


def test_a_program_is_asked_for_leave_and_gives_it(desk: MakeDesk) -> None:
    here = desk(script(reply(call("Bash", command="mkdir made")), "Done."))
    talk = Talk(here, "--permission-prompt-tool", "stdio")
    talk.say(control("i", subtype="initialize"), user("go"))
    asked = talk.wait_for_request()
    assert (asked["request"]["subtype"], asked["request"]["tool_name"]) == ("can_use_tool", "Bash")
    assert asked["request"]["input"] == {"command": "mkdir made"}
    assert not has_made_file(here)
    talk.answer(asked, behavior="allow", updatedInput={"command": "mkdir made"})
    assert talk.until("result")["result"] == "Done."
    assert talk.end() == 0
    assert has_made_file(here)


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ({"behavior": "deny", "message": "use make"}, "use make"),
        ({"behavior": "deny"}, "invalid permission result"),
        ({"behavior": "allow", "updatedInput": "mkdir other"}, "invalid permission result"),
        ({}, "invalid permission result"),
    ],
)
def test_what_a_program_does_not_allow_is_not_done_and_the_model_is_told(
    desk: MakeDesk, response: Json, expected: str
) -> None:
    here = desk(script(reply(call("Bash", command="mkdir made")), "Well."))
    talk = Talk(here, "--permission-prompt-tool", "stdio")
    talk.say(user("go"))
    talk.answer(talk.wait_for_request(), **response)
    assert talk.until("result")["result"] == "Well."
    talk.end()
    assert list(here.cwd.iterdir()) == []
    assert expected in json.dumps(here.requests[-1]["messages"][-1])


@pytest.mark.parametrize("how", ["answer", "interrupt"])
def test_a_program_that_is_asked_can_end_the_turn(desk: MakeDesk, how: str) -> None:
    here = desk(script(reply(call("Bash", command="mkdir made")), "never"))
    talk = Talk(here, "--permission-prompt-tool", "stdio")
    talk.say(user("go"))
    asked = talk.wait_for_request()
    if how == "answer":
        talk.answer(asked, behavior="deny", message="stop", interrupt=True)
    else:
        talk.say(control("x", subtype="interrupt"))
    assert talk.until("result")["subtype"] == "error_during_execution"
    talk.end()
    assert not has_made_file(here)
    assert len(here.requests) == 1


def test_a_program_that_is_gone_allows_nothing(desk: MakeDesk) -> None:
    here = desk(script(reply(call("Bash", command="mkdir made")), "Well."))
    talk = Talk(here, "--permission-prompt-tool", "stdio")
    talk.say(user("go"))
    talk.wait_for_request()
    assert talk.end() == 0
    assert not has_made_file(here)


COLOURS = [{"label": name, "description": ""} for name in ("Red", "Blue")]
QUESTIONS = [{"question": "Which?", "header": "Colour", "options": COLOURS, "multiSelect": False}]


def result(here: Desk) -> Json:
    """What the model was told of its call."""
    found: Json = here.requests[-1]["messages"][-1]["content"][0]
    return found


def test_a_program_is_asked_the_questions_of_the_model_and_answers_them(desk: MakeDesk) -> None:
    here = desk(script(reply(call("AskUserQuestion", questions=QUESTIONS)), "Blue, then."))
    talk = Talk(here, "--permission-prompt-tool", "stdio")
    talk.say(user("go"))
    asked = talk.wait_for_request()
    request = asked["request"]
    assert (request["subtype"], request["tool_name"]) == ("can_use_tool", "AskUserQuestion")
    assert request["input"] == {"questions": QUESTIONS}
    assert request["tool_use_id"] == here.session[-1]["message"]["content"][0]["id"]
    talk.answer(asked, behavior="allow", updatedInput={"questions": QUESTIONS, "answers": {"Which?": "Blue"}})
    assert talk.until("result")["result"] == "Blue, then."
    talk.end()
    assert '"Which?"="Blue"' in result(here)["content"]


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ({"behavior": "deny", "message": "not now"}, "not now"),
        ({"behavior": "deny", "message": ""}, "were not answered"),
        ({"behavior": "deny"}, "invalid permission result"),
        ({"behavior": "allow"}, "did not answer"),
        ({"behavior": "allow", "updatedInput": {"answers": "Blue"}}, "did not answer"),
        ({"behavior": "allow", "updatedInput": 5}, "invalid permission result"),
    ],
)
def test_a_program_that_does_not_answer_a_question_leaves_it_open(
    desk: MakeDesk, response: Json, expected: str
) -> None:
    here = desk(script(reply(call("AskUserQuestion", questions=QUESTIONS)), "Well."))
    talk = Talk(here, "--permission-prompt-tool", "stdio")
    talk.say(user("go"))
    talk.answer(talk.wait_for_request(), **response)
    assert talk.until("result")["result"] == "Well."
    talk.end()
    assert expected in result(here)["content"]


@pytest.mark.parametrize("how", ["answer", "interrupt"])
def test_a_program_that_is_asked_a_question_can_end_the_turn(desk: MakeDesk, how: str) -> None:
    here = desk(script(reply(call("AskUserQuestion", questions=QUESTIONS), call("Bash", command="ls")), "never"))
    talk = Talk(here, "--permission-prompt-tool", "stdio")
    talk.say(user("go"))
    asked = talk.wait_for_request()
    if how == "answer":
        talk.answer(asked, behavior="deny", message="stop", interrupt=True)
    else:
        talk.say(control("x", subtype="interrupt"))
    assert talk.until("result")["subtype"] == "error_during_execution"
    talk.end()
    assert len(here.requests) == 1


@pytest.mark.parametrize(
    ("response", "mode", "expected"),
    [
        ({"behavior": "allow", "updatedInput": {"plan": "1. do"}}, "default", "## Approved Plan:\n1. do"),
        ({"behavior": "allow", "updatedInput": {"plan": "2. less"}}, "default", "edited by user):\n2. less"),
        (
            {"behavior": "allow", "updatedPermissions": [{"type": "setMode", "mode": "acceptEdits"}]},
            "acceptEdits",
            "1. do",
        ),
        ({"behavior": "allow", "updatedPermissions": [5, {"type": "setMode", "mode": "odd"}]}, "default", "1. do"),
        ({"behavior": "deny", "message": "tests first"}, "plan", "tests first"),
    ],
)
def test_a_program_agrees_to_a_plan_or_not(desk: MakeDesk, response: Json, mode: str, expected: str) -> None:
    here = desk(script(reply(call("ExitPlanMode", plan="1. do")), "Well.", "Then."))
    talk = Talk(here, "--permission-prompt-tool", "stdio", "--permission-mode", "plan")
    talk.say(user("go"))
    asked = talk.wait_for_request()
    assert (asked["request"]["tool_name"], asked["request"]["input"]) == ("ExitPlanMode", {"plan": "1. do"})
    talk.answer(asked, **response)
    talk.until("result")
    assert expected in result(here)["content"]
    talk.say(user("and"))
    talk.until("result")
    talk.end()
    assert [line["permissionMode"] for line in talk.told if line.get("subtype") == "init"] == ["plan", mode]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("nonsense", "line 1: not valid JSON"),
        ('{"type":"user"}', "has no content"),
        ('{"type":"user","message":{"content":" "}}', "has no content"),
    ],
)
def test_what_is_no_message_ends_the_program_with_a_word(desk: MakeDesk, line: str, expected: str) -> None:
    done = desk(script("never")).turnlog(*STREAMS, stdin=line + "\n")
    assert done.returncode == 1
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ("-p", "--input-format", "stream-json"),
        ("-p", "x", "--replay-user-messages"),
        (*STREAMS, "a prompt"),
        ("-p", "x", "--permission-prompt-tool", "stdio"),
        ("chat", "--output-format", "json"),
    ],
)
def test_words_that_contradict_each_other_are_refused(desk: MakeDesk, words: tuple[str, ...]) -> None:
    done = desk(script()).turnlog(*words)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


# -- commands of the client


@pytest.mark.parametrize("name", ["cost", "context", "help", "model"])
def test_a_command_is_carried_out_in_print_mode(desk: MakeDesk, name: str) -> None:
    here = desk(script("never"))
    done = here.turnlog("-p", f"/{name}", "--output-format", "json")
    told = json.loads(done.stdout)
    assert (told["local_command"], told["num_turns"], told["is_error"]) == (name, 0, False)
    assert told["result"] == here.turnlog("-p", f"/{name}").stdout.rstrip("\n")
    assert here.requests == []


def test_compact_in_print_mode_replaces_the_conversation(desk: MakeDesk) -> None:
    here = desk(script("One.", "<summary>They spoke.</summary>", "Two."))
    here.turnlog("-p", "first")
    assert here.turnlog("-p", "/compact keep names", "--continue").returncode == 0
    assert "keep names" in json.dumps(here.requests[1]["messages"][-1])
    assert any(row.get("isCompactSummary") for row in here.session)
    here.turnlog("-p", "second", "--continue")
    assert "They spoke." in json.dumps(here.requests[2]["messages"])


def test_a_summary_that_fails_is_told_as_a_turn_that_failed(desk: MakeDesk) -> None:
    wrong = {"error": {"status": 400, "type": "invalid_request_error", "message": "no summaries"}}
    here = desk(script("One.", wrong))
    told = fed(here, user("first"), user("/compact"))
    assert [line["is_error"] for line in told if line["type"] == "result"] == [False, True]
    assert "no summaries" in told[-1]["result"]


def test_a_command_in_a_stream_is_told_like_an_answer(desk: MakeDesk) -> None:
    told = fed(desk(script("One.")), user("/cost"))
    assert kinds(told) == ["init", "assistant", "success"]
    assert told[1]["message"]["model"] == "<synthetic>"
    assert told[1]["message"]["content"][0]["text"] == told[2]["result"]


def test_a_prompt_that_no_person_has_typed_mentions_no_file_and_names_no_command(desk: MakeDesk) -> None:
    here = desk(script("One.", "Two.", "Three."))
    here.trust()
    (here.cwd / "notes.md").write_text("from the file")
    (here.cwd / ".claude" / "commands").mkdir(parents=True)
    (here.cwd / ".claude" / "commands" / "do.md").write_text("Do it now")
    texts = ["/clear @notes.md", "/do it", [{"type": "text", "text": "/cost"}]]
    told = fed(here, *(user(text, client_composed=True) for text in texts))
    assert [line["result"] for line in told if line["type"] == "result"] == ["One.", "Two.", "Three."]
    sent = [body["messages"][-1]["content"][-1]["text"] for body in here.requests]
    assert sent == ["/clear @notes.md", "/do it", "/cost"]
    assert "from the file" not in json.dumps(here.requests[-1]["messages"])
    assert "Do it now" not in json.dumps(here.requests[-1]["messages"])
