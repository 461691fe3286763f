"""Every request that the whole client makes is one that the Messages API takes, whatever happens in between."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.agent.api import Api, Gate, hang
from tests.agent.client import Client, in_memory, on_disk
from tests.agent.desk import Desk, call, reply, says
from tests.agent.rules import Memory, find_refusal, seal
from tests.agent.talk import PIXEL, answer, use
from tests.interop.recordings import DATA
from turnlog.agent.compaction import SUMMARY_INSTRUCTION
from turnlog.agent.conversation import CLEARED_RESULT_TEXT, AgentConversation, build_reminder
from turnlog.agent.events import AnswerStreamed, CallEnded, CallProgress, CallStarted, ConversationCompacted, TurnEvent
from turnlog.agent.permissions.decision import Decision
from turnlog.agent.person import Nobody, PermissionAnswer
from turnlog.agent.record.record import SessionRecord
from turnlog.agent.resume.resume import load_resumable_session
from turnlog.errors import TurnlogError
from turnlog.model.cancel import Cancel
from turnlog.model.events import InputPart, SignaturePart, TextPart, ThinkingPart
from turnlog.session.resume.refusals import THINKING_TYPES
from turnlog.session.session import Session

THOUGHT = {"type": "thinking", "thinking": "Let me see.", "signature": "c2lnbmVk"}
SECRET = {"type": "redacted_thinking", "data": "b3BhcXVl"}
ECHO = call("Bash", command="echo hi")
FAILS = call("Bash", command="cat /nowhere/at/all")
TODO = call("TodoWrite", todos=[{"content": "a", "status": "pending", "activeForm": "doing a"}])
SUMMARY = "<analysis>…</analysis><summary>Much was said.</summary>"
SEARCH: list[dict[str, Any]] = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [
            {"type": "web_search_result", "url": "https://example.org", "title": "X", "encrypted_content": "e"}
        ],
    },
]


class Refuses(Nobody):
    """A person who refuses everything without a word."""

    def permit(self, name: str, given: Mapping[str, Any], decision: Decision, agent: str | None) -> PermissionAnswer:
        return PermissionAnswer("no")


def task(prompt: str) -> dict[str, Any]:
    return call("Task", description="Look", prompt=prompt, subagent_type="Explore", run_in_background=False)


@pytest.fixture
def at(tmp_path: Path) -> Callable[..., Any]:
    """Makes a desk at a server with a script."""

    @contextmanager
    def open_desk(
        *replies: Any, agents: Mapping[str, list[Any]] | None = None, memory: Memory | None = None
    ) -> Iterator[Desk]:
        with Api(replies, agents, memory) as api:
            yield Desk(tmp_path, api)
            assert api.refused == []

    return open_desk


def stops(client: Client, kind: type[Any], cancel: Cancel, after: int = 1) -> None:
    """Let something stop the turn when it happens."""
    seen: list[TurnEvent] = []

    def hear(event: TurnEvent) -> None:
        happens = event.event if isinstance(event, AnswerStreamed) else event
        if isinstance(happens, kind):
            seen.append(event)
            if len(seen) == after:
                cancel.set()

    client.hear = hear


# -- turns


def test_turns_with_calls_thinking_and_errors(at: Callable[..., Any]) -> None:
    replies = [
        reply(THOUGHT, says("I look."), ECHO, FAILS, call("Nope", x=1), call("Bash"), TODO),
        reply(SECRET, says("Again."), ECHO, call("Read", file_path="/nowhere")),
        "Done.",
        reply({**THOUGHT, "signature": "bW9yZQ=="}, says("Yes.")),
    ]
    with at(*replies) as desk, Client(desk) as client:
        assert client.say("first").text == "Done."
        assert client.say("second").text == "Yes."
        assert len(client.api.bodies) == 4


def test_an_empty_answer_and_empty_texts_are_not_sent_back(at: Callable[..., Any]) -> None:
    replies = [reply(ECHO), reply(), reply(says(""), says("  \n"), says("Yes.")), reply(says(" ")), "Well."]
    with at(*replies) as desk, Client(desk) as client:
        for text in ("one", "two", "three", "four"):
            assert client.say(text).reason == "finished"


def test_an_answer_that_is_nothing_but_thinking_is_not_sent_back(at: Callable[..., Any]) -> None:
    replies = [reply(THOUGHT), reply(says("So."), SECRET), reply(THOUGHT, stop_reason="max_tokens"), "On.", "Good."]
    with at(*replies) as desk, Client(desk) as client:
        for text in ("one", "two", "three", "four"):
            assert client.say(text).reason == "finished"


def test_an_answer_that_was_cut_by_its_limit_is_gone_on_with(at: Callable[..., Any]) -> None:
    replies = [reply(THOUGHT, says("Half "), stop_reason="max_tokens"), reply(says("and half."), ECHO), "Done.", "Yes."]
    with at(*replies) as desk, Client(desk) as client:
        assert client.say("one").text == "Done."
        assert client.say("two").text == "Yes."


def test_what_the_server_s_own_tools_said_goes_back_as_it_was(at: Callable[..., Any]) -> None:
    cited = {"type": "text", "text": "It is X.", "citations": [{"type": "web_search_result_location", "url": "u"}]}
    with at(reply(says("I search."), *SEARCH, cited, ECHO), "Done.", "Yes.") as desk, Client(desk) as client:
        client.loop.run_turn("search", Cancel())
        client.loop.run_turn("and", Cancel())
        said = client.api.bodies[-1]["messages"][1]["content"]
        assert [block["type"] for block in said] == [
            "text",
            "server_tool_use",
            "web_search_tool_result",
            "text",
            "tool_use",
        ]
    with at("More.") as desk, Client(desk, is_continued=True) as client:
        assert client.say("again").text == "More."
        assert client.api.bodies[-1]["messages"][1]["content"] == said


def build_paused_reply(*blocks: dict[str, Any]) -> dict[str, Any]:
    return reply(*blocks, stop_reason="pause_turn")


def types(message: Mapping[str, Any]) -> list[str]:
    return [block["type"] for block in message["content"]]


def test_an_answer_that_the_server_paused_is_given_back_until_it_is_whole(at: Callable[..., Any]) -> None:
    asks, found = SEARCH
    replies = [
        build_paused_reply(THOUGHT, says("I search."), asks),
        build_paused_reply(found),
        reply(says("It is X."), ECHO),
    ]
    with at(*replies, "Done.", "Yes.", "More.") as desk:
        with Client(desk) as client:
            assert client.say("search").text == "Done."
            client.say("and")
            assert [types(body["messages"][-1]) for body in client.api.bodies[1:3]] == [
                ["thinking", "text", "server_tool_use"],
                ["thinking", "text", "server_tool_use", "web_search_tool_result"],
            ]
        with Client(desk, is_continued=True) as client:
            assert client.say("again").text == "More."
            first, again = (body["messages"][1]["content"] for body in client.api.bodies[-2:])
            assert again == first
    answers = [row for row in desk.session if row["type"] == "assistant"]
    assert [row["message"]["stop_reason"] for row in answers[:6]] == ["pause_turn"] * 4 + ["tool_use"] * 2
    assert len({row["message"]["id"] for row in answers[:6]}) == 1


def test_a_search_that_the_server_paused_is_gone_on_with(at: Callable[..., Any]) -> None:
    asks, found = SEARCH
    replies = {"Perform a web search": [build_paused_reply(says("I search."), asks), reply(found, says("It is X."))]}
    search = reply(call("WebSearch", query="xyz"))
    with at(search, "Done.", agents=replies) as desk, Client(desk, allowed=("WebSearch",)) as client:
        assert client.say("search").text == "Done."
        assert types(client.api.bodies[2]["messages"][-1]) == ["text", "server_tool_use"]
        told = client.api.bodies[-1]["messages"][-1]["content"][0]["content"]
        assert "https://example.org" in told
        assert "It is X." in told


def test_a_server_that_does_nothing_but_pause_is_not_asked_for_ever(at: Callable[..., Any]) -> None:
    more = [build_paused_reply(says(f"Part {number}.")) for number in range(20)]
    with at(*more) as desk, Client(desk) as client:
        assert client.say("search").reason == "finished"
        assert len(client.api.bodies) == 11


@pytest.mark.parametrize("end", ["limit", "failure", "interrupt", "cut"])
def test_a_paused_answer_that_never_went_on_leaves_no_open_call(at: Callable[..., Any], end: str) -> None:
    wrong = {"error": {"status": 400, "type": "invalid_request_error", "message": "no"}}
    after = {"failure": [wrong], "interrupt": [{**reply(says("x" * 20)), "do": hang(4)}]}.get(end, [])
    turns = {"limit": 1, "cut": 1}.get(end)
    with at(build_paused_reply(says("I search."), SEARCH[0]), *after, "Well.", SUMMARY, "Then.") as desk:
        with Client(desk, turns=turns) as client:
            cancel = Cancel()
            if end == "interrupt":
                stops(client, TextPart, cancel, after=4)
            assert client.say("search", cancel).reason != "finished"
            client.hear = lambda _: None
            if end != "cut":
                assert client.say("and").text == "Well."
                client.command("/compact")
        with Client(desk, is_continued=True) as client:
            assert client.say("again").text == ("Well." if end == "cut" else "Then.")


def test_thinking_between_calls_stays_there_when_a_session_is_taken_up(at: Callable[..., Any]) -> None:
    other = {**THOUGHT, "signature": "bW9yZQ=="}
    with at(reply(THOUGHT, ECHO, other, ECHO), "Done.", "More.") as desk:
        with Client(desk) as client:
            client.say("first")
        with Client(desk, is_continued=True) as client:
            client.say("again")
            first, again = (body["messages"][1]["content"] for body in client.api.bodies[1:])
            assert [block["type"] for block in again] == ["thinking", "tool_use"] * 2
            assert again == first


def test_a_model_that_is_told_to_think_may_also_answer_without(at: Callable[..., Any]) -> None:
    other = {**THOUGHT, "signature": "bW9yZQ=="}
    with at(reply(THOUGHT, ECHO), reply(ECHO), reply(other, says("Done.")), reply(ECHO), "Yes.", "More.") as desk:
        (desk.config / "settings.json").write_text(json.dumps({"env": {"MAX_THINKING_TOKENS": "5000"}}))
        with Client(desk) as client:
            assert client.say("first").text == "Done."
            assert client.say("second").text == "Yes."
        with Client(desk, is_continued=True) as client:
            assert client.say("third").text == "More."
            assert all(body["thinking"]["type"] == "adaptive" for body in client.api.bodies)


def test_pictures_go_with_results(at: Callable[..., Any], tmp_path: Path) -> None:
    import base64

    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "p.png").write_bytes(base64.b64decode(PIXEL))
    with at(reply(call("Read", file_path=str(tmp_path / "project" / "p.png"))), "A pixel.", "Yes.") as desk:
        with Client(desk) as client:
            assert client.say("look").text == "A pixel."
        with Client(desk, is_continued=True) as client:
            assert client.say("sure?").text == "Yes."


def test_a_prompt_of_several_blocks(at: Callable[..., Any]) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    with at(reply(ECHO), "One.", "Two.") as desk:
        with Client(desk) as client:
            client.loop.run_turn([image, says("What is it?"), says(" "), image, says("And this?")], Cancel())
            client.must_be_sound()
        with Client(desk, is_continued=True) as client:
            client.say("second")


def test_answers_without_an_id_of_their_own_stay_apart(at: Callable[..., Any]) -> None:
    replies = [
        reply(says("a"), ECHO, id="msg_1"),
        reply(says("b"), ECHO, id="msg_2"),
        reply(says("c"), ECHO, id="msg_1"),
    ]
    with at(*replies, reply(says("One."), id="msg_2"), reply(says("Two."), id="msg_1")) as desk, Client(desk) as client:
        client.say("first")
        client.say("second")


def test_news_of_commands_in_the_background_stand_behind_results(at: Callable[..., Any]) -> None:
    behind = call("Bash", command="echo behind", run_in_background=True)
    with at(reply(behind), reply(ECHO), reply(ECHO), "One.", "Two.") as desk:
        with Client(desk, allowed=("Bash(echo:*)",)) as client:
            client.say("first")
            client.say("second")
        with Client(desk, is_continued=True) as client:
            client.say("third")


def test_questions_to_the_small_model_are_requests_too(at: Callable[..., Any]) -> None:
    search = call("WebSearch", query="turnlog")
    agents = {"": [reply(*SEARCH, says("X it is."))]}
    with at(reply(search, ECHO), "1", "2", agents=agents) as desk, Client(desk, allowed=("WebSearch",)) as client:
        client.say("first")
        assert "X it is." in json.dumps(client.api.bodies[-1]["messages"][-1])
        assert len(client.api.bodies) == 3
        client.say("second")


def test_half_of_a_surrogate_pair_is_not_sent(at: Callable[..., Any]) -> None:
    with at(reply(call("Bash", command="echo \ud83d")), "Done.", "Yes.") as desk, Client(desk) as client:
        assert client.loop.run_turn("half \ud83d of it", Cancel()).text == "Done."
        assert client.loop.run_turn("more", Cancel()).text == "Yes."


# -- people


def test_calls_that_nobody_allows(at: Callable[..., Any]) -> None:
    with at(reply(call("Bash", command="touch /etc/x"), ECHO), "Then not.", "Yes.") as desk, Client(desk) as client:
        assert client.say().text == "Then not."
        assert client.say().text == "Yes."


def test_calls_that_a_person_refuses(at: Callable[..., Any]) -> None:
    replies = [reply(ECHO, call("Bash", command="touch /etc/x"), ECHO), "Well.", "Yes."]
    with at(*replies) as desk, Client(desk, Refuses()) as client:
        assert client.say().reason == "interrupted"
        results = [block for block in client.loop.conversation.messages[-1]["content"] if "tool_use_id" in block]
        assert [block["content"] == "hi" for block in results] == [True, False, False]
        assert client.say().text == "Well."
        assert client.say().text == "Yes."


@pytest.mark.parametrize(
    ("kind", "after"),
    [(ThinkingPart, 1), (SignaturePart, 1), (TextPart, 1), (TextPart, 3), (InputPart, 1), (InputPart, 5)],
)
def test_an_answer_that_is_interrupted(at: Callable[..., Any], kind: type[Any], after: int) -> None:
    long = reply(THOUGHT, says("A long story."), ECHO, ECHO)
    with at(reply(ECHO), long, "Well.", "Yes.") as desk:
        with Client(desk) as client:
            cancel = Cancel()
            stops(client, kind, cancel, after + 4 if kind is InputPart else after)
            assert client.say("go", cancel).reason == "interrupted"
            assert client.say("again").text == "Well."
        with Client(desk, is_continued=True) as client:
            assert client.say("and again").text == "Yes."


@pytest.mark.parametrize("kind", [CallStarted, CallEnded])
@pytest.mark.parametrize("after", [1, 2, 3])
def test_calls_that_are_interrupted(at: Callable[..., Any], kind: type[Any], after: int) -> None:
    sleep = call("Bash", command="sleep 30", description="Sleep")
    calls = [ECHO, sleep, ECHO] if kind is CallStarted else [ECHO, TODO, ECHO]
    with at(reply(THOUGHT, says("Three."), *calls), "Well.", "Yes.") as desk:
        with Client(desk, allowed=("Bash(sleep:*)",)) as client:
            cancel = Cancel()
            stops(client, kind, cancel, after)
            if kind is CallStarted and after == 3:
                threading.Timer(0.3, cancel.set).start()
            assert client.say("go", cancel).reason == "interrupted"
            assert client.say("again").text == "Well."
        with Client(desk, is_continued=True) as client:
            assert client.say("and again").text == "Yes."


def test_a_turn_that_is_taken_back_before_it_begins(at: Callable[..., Any]) -> None:
    with at("Well.", "Yes.") as desk, Client(desk) as client:
        cancel = Cancel()
        cancel.set()
        assert client.say("go", cancel).reason == "interrupted"
        assert client.say("again").text == "Well."


@pytest.mark.parametrize("words", [{"turns": 2}, {"dollars": 0.0001}], ids=["turns", "dollars"])
def test_a_turn_that_a_limit_ends_goes_on_with_the_next(at: Callable[..., Any], words: dict[str, Any]) -> None:
    with at(reply(ECHO), reply(ECHO, FAILS), reply(ECHO), "One.", "Two.") as desk:
        with Client(desk, **words) as client:
            assert client.say("first").reason in ("max_turns", "budget")
            client.say("second")
        with Client(desk, is_continued=True) as client:
            client.say("third")


# -- sub-agents


def test_sub_agents_side_by_side(at: Callable[..., Any]) -> None:
    agents = {
        name: [reply(THOUGHT | {"signature": f"c2ln{name}"}, ECHO, FAILS), f"{name} is seen."]
        for name in ("One", "Two", "Six")
    }
    with at(reply(task("One"), task("Two"), ECHO, task("Six")), "Both.", "Yes.", agents=agents) as desk:
        with Client(desk) as client:
            assert client.say().text == "Both."
            assert len(client.api.bodies) == 8
        with Client(desk, is_continued=True) as client:
            assert client.say().text == "Yes."


def test_sub_agents_that_are_interrupted(at: Callable[..., Any]) -> None:
    agents = {"One": [reply(ECHO), "One."], "Two": [{**reply(says("x" * 50)), "do": hang()}]}
    with at(reply(says("Two."), task("One"), task("Two")), "Well.", "Yes.", agents=agents) as desk:
        with Client(desk) as client:
            cancel = Cancel()
            stops(client, CallProgress, cancel)
            assert client.say("go", cancel).reason == "interrupted"
            assert client.say("again").text == "Well."
        with Client(desk, is_continued=True) as client:
            assert client.say("and").text == "Yes."


# -- the window


def test_a_summary_that_a_person_wants(at: Callable[..., Any]) -> None:
    with at(reply(THOUGHT, ECHO), "One.", SUMMARY, reply(ECHO), "Two.", "Three.") as desk:
        with Client(desk) as client:
            client.say("first")
            client.command("/compact keep names")
            client.must_be_sound()
            assert "keep names" in json.dumps(client.api.bodies[2]["messages"][-1])
            assert client.say("second").text == "Two."
        with Client(desk, is_continued=True) as client:
            assert client.say("third").text == "Three."
            assert "first" not in json.dumps(client.api.bodies[-1]["messages"])


@pytest.mark.parametrize("is_within", [True, False], ids=["within a turn", "between turns"])
def test_a_summary_because_the_window_is_full(at: Callable[..., Any], is_within: bool) -> None:
    full = {"input_tokens": 990_000}
    first = [reply(says("Look."), ECHO, usage=full)] if is_within else [reply(ECHO), reply(says("One."), usage=full)]
    with at(*first, SUMMARY, reply(ECHO), "Two.", "Three.") as desk, Client(desk) as client:
        client.say("first")
        client.say("second")
        assert [event.trigger for event in client.list_events(ConversationCompacted)] == ["auto"]
        assert SUMMARY_INSTRUCTION in json.dumps(client.api.bodies[len(first)]["messages"][-1]).replace("\\n", "\n")


def test_results_that_would_not_fit_into_the_window_are_summed_up_before_they_are_sent(
    at: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "big.txt").write_text("word " * 5000)
    look = reply(call("Bash", command="cat big.txt"), usage={"input_tokens": 40_000})
    with at(look, SUMMARY, "Done.", "Yes.") as desk, Client(desk) as client:
        client.loop.setup.window = 50_000
        assert client.say("first").text == "Done."
        assert [event.trigger for event in client.list_events(ConversationCompacted)] == ["auto"]
        client.say("second")


def test_a_summary_that_fails_leaves_everything_as_it_was(at: Callable[..., Any]) -> None:
    full = {"input_tokens": 990_000}
    refusal = {"error": {"status": 400, "type": "invalid_request_error", "message": "no such thing"}}
    with at(reply(says("One."), usage=full), refusal, "Two.", "Three.") as desk, Client(desk) as client:
        client.say("first")
        assert client.say("second").text == "Two."
        assert client.list_events(ConversationCompacted) == []
        client.say("third")


def test_a_summary_that_is_interrupted_leaves_everything_as_it_was(at: Callable[..., Any]) -> None:
    gate = Gate(3)
    slow = {**reply(says(SUMMARY)), "do": gate}
    with (
        at(reply(says("One."), usage={"input_tokens": 990_000}), slow, SUMMARY, "Two.") as desk,
        Client(desk) as client,
    ):
        client.say("first")
        cancel = Cancel()
        gate.then(cancel.set)
        assert client.say("second", cancel).reason == "interrupted"
        assert client.list_events(ConversationCompacted) == []
        assert client.say("third").text == "Two."


def test_a_session_that_was_nearly_full_is_summed_up_when_it_is_taken_up(at: Callable[..., Any]) -> None:
    with at(reply(says("One."), usage={"input_tokens": 990_000}), SUMMARY, "Two.") as desk:
        with Client(desk) as client:
            client.say("first")
        with Client(desk, is_continued=True) as client:
            assert client.say("second").text == "Two."
            assert [event.trigger for event in client.list_events(ConversationCompacted)] == ["auto"]
        with Client(desk, is_continued=True) as client:
            assert client.say("third").text == "OK."


def test_old_results_make_room(at: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "big.txt").write_text("word " * 5000)
    look = call("Bash", command="cat big.txt")
    few, full = {"input_tokens": 1000}, {"input_tokens": 45_000}
    calls = [*(reply(look, usage=few) for _ in range(9)), reply(look, usage=full)]
    replies = [*calls, reply(says("Done."), usage=few), "Yes."]
    with at(*replies) as desk, Client(desk) as client:
        client.loop.setup.window = 50_000
        assert client.say("first").text == "Done."
        assert [event.trigger for event in client.list_events(ConversationCompacted)] == ["micro"]
        client.say("second")
        assert CLEARED_RESULT_TEXT in json.dumps(client.api.bodies[-1])


# -- models, forks


def test_another_model_is_not_sent_what_the_first_one_thought(at: Callable[..., Any]) -> None:
    other = {**THOUGHT, "signature": "b3RoZXI="}
    replies = [
        reply(THOUGHT, says("a"), ECHO),
        reply(SECRET, says("One.")),
        reply(other, ECHO),
        "Two.",
        "Three.",
        "Four.",
    ]
    with at(*replies) as desk:
        with Client(desk) as client:
            client.say("first")
            client.command("/model sonnet")
            client.say("second")
            assert seals(client.api.bodies[-1]) == {"b3RoZXI="}
            client.command("/model opus")
            client.say("third")
            assert seals(client.api.bodies[-1]) == {"c2lnbmVk", "b3BhcXVl"}
        with Client(desk, model="haiku", is_continued=True) as client:
            client.say("fourth")
            assert seals(client.api.bodies[-1]) == set()
            client.command("/model sonnet")
            assert seals(client.loop.encode_next_request()) == {"b3RoZXI="}


def test_an_answer_may_be_as_long_as_its_model_lets_it_be(at: Callable[..., Any]) -> None:
    with at("One.", "Two.", "Three.", reply(task("One")), "Four.", agents={"One": ["Seen."]}) as desk:
        folder = desk.cwd / ".claude" / "agents"
        folder.mkdir(parents=True)
        (folder / "Explore.md").write_text("---\nname: Explore\ndescription: x\nmodel: claude-3-haiku\n---\nLook.")
        with Client(desk, model="claude-3-haiku") as client:
            for model in ("claude-3-5-haiku", "opus", "minimax-m2"):
                client.say("go")
                client.command(f"/model {model}")
            client.say("go")
            most = [body["max_tokens"] for body in client.api.bodies]
            assert most == [4096, 8192, 128000, 8192, 4096, 8192]


def seals(body: Mapping[str, Any]) -> set[str]:
    blocks = [block for message in body["messages"] for block in message["content"]]
    return {seal(block) for block in blocks if "thinking" in block["type"]}


def test_a_fork_goes_on_like_the_session_itself(at: Callable[..., Any]) -> None:
    with at(reply(THOUGHT, says("a"), ECHO, TODO), "One.", "Two.", "Three.", "Four.") as desk:
        with Client(desk) as client:
            client.say("first")
            first = client.path
        with Client(desk, is_continued=True, is_forked=True) as client:
            client.say("second")
            assert client.path != first
        with Client(desk, resume=first.stem) as client:
            client.say("third")


# -- as a process


def test_the_program_takes_sessions_up_and_forks_them(at: Callable[..., Any]) -> None:
    agents = {"One": [reply(ECHO), "Seen."], "Two": [reply(FAILS), "Seen."]}
    first = reply(THOUGHT, says("a"), ECHO, FAILS, call("Bash", command="touch /etc/x"))
    replies = [first, "1", reply(task("One"), task("Two")), "2", "3", reply(SECRET, says("b"), TODO), "4"]
    with at(*replies, agents=agents) as desk:
        assert desk.turnlog("-p", "first", "--model", "opus").stdout == "1\n"
        (path,) = desk.config.glob("projects/*/*.jsonl")
        assert desk.turnlog("-p", "second", "--continue").stdout == "2\n"
        assert desk.turnlog("-p", "third", "--resume", path.stem).stdout == "3\n"
        assert desk.turnlog("-p", "fourth", "--resume", path.stem, "--fork-session").stdout == "4\n"
        assert seals(desk.requests[-1]) == {"c2lnbmVk", "b3BhcXVl"}
        assert on_disk(path)[-1] == {"role": "assistant", "content": [says("3")]}


# -- sessions that were taken up again


def test_a_session_that_is_taken_up_sends_what_was_sent_before(at: Callable[..., Any]) -> None:
    with at(
        reply(THOUGHT, says("a"), ECHO, FAILS, call("Nope")), reply(SECRET, says("b"), TODO), "One.", "Two."
    ) as desk:
        with Client(desk) as client:
            client.say("first")
            said = in_memory(client.loop.conversation.messages)
        with Client(desk, is_continued=True) as client:
            assert in_memory(client.loop.conversation.messages) == said
            client.say("second")


def test_results_that_the_api_would_refuse_are_made_whole(at: Callable[..., Any]) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    contents = [("", True), ([image], True), ([says(" "), image], False), ([says("")], False), ([says("")], True)]
    with at("Yes.") as desk:
        record = SessionRecord.create_session(desk.config, desk.cwd)
        record.write_prompt("first")
        record.write_answer(answer(*(use(f"toolu_{number}") for number in range(len(contents)))))
        for number, (content, is_error) in enumerate(contents):
            block = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": content, "is_error": is_error}
            record.write_addition([block])
        with Client(desk, is_continued=True) as client:
            assert client.say("second").text == "Yes."
            sent = client.api.bodies[-1]["messages"][2]["content"]
            assert [block["content"] for block in sent] == ["(no output)", "(no output)", [image], [], "(no output)"]


RECORDED = [
    *sorted(DATA.glob("sessions/*/*/projects/*/????????-*.jsonl")),
    *sorted(DATA.glob("variants/*.jsonl")),
]


@pytest.mark.slow
def test_sessions_of_real_clients_go_on(tmp_path: Path) -> None:
    gone_on = 0
    for number, source in enumerate(RECORDED):
        memory = Memory(*foreign(source))
        with Api([reply(THOUGHT, says("One.")), "Two."], memory=memory) as api:
            desk = Desk(tmp_path / f"{number}", api)
            path = desk.config / "projects" / "-x" / "11111111-2222-4333-8444-555555555555.jsonl"
            path.parent.mkdir(parents=True)
            shutil.copy(source, path)
            try:
                client = Client(desk, resume=path.stem)
            except TurnlogError:
                continue
            with client:
                assert client.loop.run_turn("go on", Cancel()).text == "One.", (source, api.refused)
                client.command("/model sonnet")
                assert client.loop.run_turn("go on", Cancel()).text == "Two.", (source, api.refused)
                assert on_disk(path)
            gone_on += 1
    assert gone_on > 80


def foreign(path: Path) -> tuple[dict[str, str], list[str]]:
    """Who signed which thinking in a session, and the tools that it calls."""
    signers: dict[str, str] = {}
    names: list[str] = []
    with Session.open(path) as session:
        for entry in session.entries:
            message = session.read_body(entry).get("message")
            if not isinstance(message, dict) or not isinstance(message.get("content"), list):
                continue
            for block in message["content"]:
                kind = block.get("type") if isinstance(block, dict) else None
                if kind in THINKING_TYPES:
                    signers[seal(block)] = str(message["model"])
                elif kind == "tool_use":
                    names.append(str(block.get("name")))
    return signers, names


@pytest.mark.corpus
def test_sessions_from_elsewhere_give_requests_that_the_api_takes(corpus: Path) -> None:
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01", "content-type": "application/json"}
    hand_made = ("tool_use: id", "tool_result: fields that there are not")
    taken = 0
    for path in sorted(corpus.glob("wild/*/*.jsonl")):
        try:
            found = load_resumable_session(path) if path.stat().st_size < 500_000 else None
        except TurnlogError:
            continue
        if found is None:
            continue
        model = found.model or "m"
        said = AgentConversation(found.messages, [build_reminder("here")], found.thought_by)
        said.add_user_content("go on")
        body = {"model": model, "max_tokens": 1, "stream": True, "messages": [*said.build_messages(model)]}
        calls = [block for message in found.messages for block in message["content"] if block["type"] == "tool_use"]
        memory = Memory(dict.fromkeys(found.thought_by, model), [block["name"] for block in calls])
        reason = find_refusal(body, headers, memory)
        assert reason is None or any(words in reason for words in hand_made), path
        taken += reason is None
    assert taken > 50
