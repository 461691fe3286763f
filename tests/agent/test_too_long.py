"""What the API finds too long: room is made, and it is asked again; if that is no use, people are told what helps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.agent.client import in_memory, on_disk, sound
from tests.agent.test_loop import Desk, Does, build_call_answer, build_text_answer, use
from turnlog.agent.conversation import CLEARED_RESULT_TEXT, LEFT_OUT_TEXT
from turnlog.agent.events import ConversationCompacted, WarningIssued
from turnlog.agent.tools.call_result import CallResult
from turnlog.model.cancel import Cancel
from turnlog.model.failures import RequestRejected
from turnlog.model.scripted_model import ScriptStep

TOO_LONG = RequestRejected(
    "400: prompt is too long: 210000 tokens > 200000 maximum", status=400, kind="invalid_request_error"
)
SUMMARY = build_text_answer("<summary>We said much.</summary>", 90)


def make_long_desk(folder: Path, turns: int, *script: ScriptStep) -> Desk:
    """A desk at which something was said in some turns."""
    desk = Desk(folder, *(build_text_answer(f"answer {n}", n) for n in range(turns)), *script)
    for n in range(turns):
        desk.say(f"question {n}")
    return desk


def read_messages(desk: Desk, place: int = -1) -> str:
    return json.dumps([*desk.model.requests[place].messages])


@pytest.mark.parametrize(
    "refusal",
    [
        TOO_LONG,
        RequestRejected("413: Request exceeds the maximum size", status=413),
        RequestRejected("400: input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000", status=400),
    ],
)
def test_a_conversation_that_is_too_long_is_summed_up_and_asked_again(tmp_path: Path, refusal: RequestRejected) -> None:
    desk = make_long_desk(tmp_path, 2, refusal, SUMMARY, build_text_answer("ok", 91))
    ended = desk.say("third")
    assert (ended.reason, ended.text) == ("finished", "ok")
    assert [event.trigger for event in desk.list_events(ConversationCompacted)] == ["auto"]
    assert "shortening the conversation" in desk.list_events(WarningIssued)[0].text
    assert "We said much." in read_messages(desk)
    assert "question 0" not in read_messages(desk)
    sound(desk.record.path)
    assert on_disk(desk.record.path) == in_memory(desk.loop.conversation.messages)


def test_old_results_are_cleared_first_and_all_is_summed_up_only_if_that_is_not_enough(tmp_path: Path) -> None:
    big = Does("Big", lambda given, scene: CallResult("x" * 40_000))
    calls = [build_call_answer(use(f"c{n}", "Big"), number=n) for n in range(8)]
    enough = Desk(tmp_path / "enough", *calls, TOO_LONG, build_text_answer("ok", 9), tools=(big,), window=200_000)
    assert enough.say().text == "ok"
    assert [event.trigger for event in enough.list_events(ConversationCompacted)] == ["micro"]
    assert [block["content"] == CLEARED_RESULT_TEXT for block in enough.results()] == [True] * 3 + [False] * 5
    more = Desk(
        tmp_path / "more", *calls, TOO_LONG, TOO_LONG, SUMMARY, build_text_answer("ok", 9), tools=(big,), window=200_000
    )
    assert more.say().text == "ok"
    assert [event.trigger for event in more.list_events(ConversationCompacted)] == ["micro", "auto"]


def test_what_is_too_long_to_be_summed_up_is_summed_up_in_part(tmp_path: Path) -> None:
    big = Does("Big", lambda given, scene: CallResult("x" * 100))
    calls = [build_call_answer(use(f"c{n}", "Big"), number=n) for n in range(4)]
    desk = Desk(tmp_path, *calls, TOO_LONG, TOO_LONG, TOO_LONG, SUMMARY, build_text_answer("ok", 9), tools=(big,))
    assert desk.say("the wish").text == "ok"
    without_results, newer_half = read_messages(desk, -3), read_messages(desk, -2)
    assert without_results.count(CLEARED_RESULT_TEXT) == 4
    assert "the wish" in without_results
    assert LEFT_OUT_TEXT in newer_half
    assert [f'"c{n}"' in newer_half for n in range(4)] == [False, False, True, True]


def test_what_stays_too_long_ends_the_turn_and_says_which_commands_help(tmp_path: Path) -> None:
    desk = make_long_desk(tmp_path, 2, *[TOO_LONG] * 4)
    ended = desk.say("third")
    assert ended.reason == "error"
    assert "prompt is too long" in ended.text
    assert "/clear" in ended.text
    assert f"turnlog clone {desk.record.session_id}" in ended.text
    assert desk.list_events(ConversationCompacted) == []
    assert len(desk.model.requests) == 2 + 4  # asked, summed up: of all, without results, of the newer half
    assert "question 0" in json.dumps(desk.loop.conversation.messages)


def test_a_first_prompt_that_is_too_long_is_not_asked_for_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path, TOO_LONG)
    assert "/clear" in desk.say("x" * 1000).text
    assert len(desk.model.requests) == 1


def test_another_refusal_is_no_reason_to_sum_up(tmp_path: Path) -> None:
    desk = make_long_desk(tmp_path, 1, RequestRejected("400: no such tool", status=400))
    ended = desk.say("second")
    assert (ended.reason, ended.text) == ("error", "API Error: 400: no such tool")
    desk = make_long_desk(tmp_path / "later", 1, TOO_LONG, RequestRejected("400: no such tool", status=400))
    assert desk.say("second").text == "API Error: 400: no such tool"
    assert desk.list_events(ConversationCompacted) == []


def test_who_stops_it_while_room_is_made_is_heard(tmp_path: Path) -> None:
    cancel = Cancel()
    desk = make_long_desk(tmp_path, 1, TOO_LONG, SUMMARY, build_text_answer("too late", 91))
    watch = desk.loop.tell

    def stop(event: object) -> None:
        watch(event)  # type: ignore[arg-type]
        if isinstance(event, WarningIssued):
            cancel.set()

    desk.loop.tell = stop
    assert desk.say("second", cancel).reason == "interrupted"
    sound(desk.record.path)
    assert "interrupted" in json.dumps(desk.loop.conversation.messages[-1])
