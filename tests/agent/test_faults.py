"""Whatever a server does: the person is told in one line, the session is sound, and the next request is valid."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.agent.api import Api, Gate, cut, dribble, error, interrupted_by, page, reset
from tests.agent.client import QUICK, Client, sound
from tests.agent.desk import Desk, call, reply, says
from tests.model.server import endpoint, event, find_closed_address
from turnlog.agent.events import CallEnded, CallStarted, TurnEvent, WarningIssued
from turnlog.agent.resume.resume import load_resumable_session
from turnlog.model.anthropic import connect_model
from turnlog.model.cancel import Cancel

pytestmark = pytest.mark.slow

THOUGHT = {"type": "thinking", "thinking": "Let me see.", "signature": "c2lnbmVk"}
ECHO = call("Bash", command="echo hi")
ANSWER = reply(THOUGHT, says("What was cut."), ECHO)
HTML = "<html><head><title>Bad</title></head><body>\n<h1>Bad Gateway</h1>\n<p>nginx</p></body></html>"


class Fault(NamedTuple):
    """Something that goes wrong."""

    reply: Mapping[str, Any]
    passes: bool
    """Whether it is tried again."""
    words: str
    """What the person is told, among other things."""


def does(act: Any) -> dict[str, Any]:
    return {**ANSWER, "do": act}


def build_error_event(kind: str) -> bytes:
    return event("error", error={"type": kind, "message": "It broke"})


FAULTS = {
    "429": Fault(error(429, "rate_limit_error"), True, "429: so it is"),
    "429 for a moment": Fault(error(429, "rate_limit_error", **{"retry-after": "0"}), True, "429: so it is"),
    "429 for an hour": Fault(error(429, "rate_limit_error", **{"retry-after": "3600"}), False, "429: so it is"),
    "529": Fault(error(529, "overloaded_error", "Overloaded"), True, "529: Overloaded"),
    "500": Fault(error(500, "api_error"), True, "500: so it is"),
    "503": Fault(error(503, "api_error"), True, "503: so it is"),
    "400": Fault(error(400, "invalid_request_error", "no\nsuch\tthing"), False, "400: no such thing"),
    "401": Fault(error(401, "authentication_error", "invalid x-api-key"), False, "401: invalid x-api-key"),
    "403": Fault(error(403, "permission_error"), False, "403: so it is"),
    "reset": Fault(does(reset), True, "127.0.0.1"),
    "nothing": Fault(does(page(200, "text/event-stream", "")), True, "ended before the answer did"),
    "cut at the beginning": Fault(does(cut("message_start")), True, "ended before the answer did"),
    "cut in thinking": Fault(does(cut("thinking_delta")), True, "ended before the answer did"),
    "cut in a text": Fault(does(cut("text_delta")), True, "ended before the answer did"),
    "cut in a call": Fault(does(cut("input_json_delta")), True, "ended before the answer did"),
    "cut before the end": Fault(does(cut("message_delta")), True, "ended before the answer did"),
    "torn in a text": Fault(does(cut("text_delta", is_torn=True)), True, "ended before the answer did"),
    "torn in a call": Fault(does(cut("input_json_delta", is_torn=True)), True, "ended before the answer did"),
    "torn at the end": Fault(does(cut("message_stop", is_torn=True)), True, "ended before the answer did"),
    "overloaded while answering": Fault(
        does(interrupted_by(build_error_event("overloaded_error"), 6)), True, "It broke"
    ),
    "refused while answering": Fault(
        does(interrupted_by(build_error_event("invalid_request_error"), 6)), False, "It broke"
    ),
    "no JSON": Fault(does(interrupted_by(b"event: ping\ndata: {nope\n\n")), True, "not valid JSON"),
    "no object": Fault(does(interrupted_by(b"data: [1]\n\n")), True, "not an object"),
    "JSON instead": Fault(does(page(200, "application/json", "{}")), False, "application/json"),
    "a page instead": Fault(does(page(200, "text/html", HTML)), False, "text/html"),
    "no kind": Fault(does(page(200, "", "")), False, "check ANTHROPIC_BASE_URL"),
    "a page that says 502": Fault(does(page(502, "text/html", HTML)), True, "502: Bad Gateway nginx"),
    "a page that says 404": Fault(does(page(404, "text/html", HTML)), False, "404: Bad Gateway nginx"),
    "elsewhere": Fault(does(page(302, "text/html", "", location="http://example.org/")), False, "the server redirects"),
}


@contextmanager
def at(folder: Path, *replies: Any, agents: Mapping[str, list[Any]] | None = None) -> Iterator[Desk]:
    with Api(replies, agents) as api:
        yield Desk(folder, api)
        assert api.refused == []


def one_line(text: str, words: str) -> bool:
    return text.startswith("API Error: ") and "\n" not in text and words in text and len(text) < 700


# -- each fault, wherever it comes


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("is_first", [True, False], ids=["first", "in the middle"])
def test_a_fault_ends_the_turn_or_passes_and_the_next_turn_goes_on(tmp_path: Path, name: str, is_first: bool) -> None:
    fault = FAULTS[name]
    before = [] if is_first else [reply(says("I look."), ECHO)]
    lasting = [fault.reply] * (QUICK.attempts if fault.passes else 1)
    with at(tmp_path, *before, *lasting, *before, fault.reply, "Two.", "Three.") as desk:
        with Client(desk) as client:
            ended = client.say("first")
            assert (ended.reason, one_line(ended.text, fault.words)) == ("error", True), ended.text
            ended = client.say("second")
            assert (ended.reason, ended.text == "Two.") == (("finished", True) if fault.passes else ("error", False))
            assert client.say("third").text == ("Three." if fault.passes else "Two.")
        written = client.path.read_text()
        assert written.count("What was cut.") == 0
        assert written.count('"first"') <= 2
        with Client(desk, is_continued=True) as client:
            client.say("fourth")


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_a_sub_agent_is_told_to_whoever_sent_it(tmp_path: Path, name: str) -> None:
    fault = FAULTS[name]
    lasting = [fault.reply] * (QUICK.attempts if fault.passes else 1)
    agents: dict[str, list[Any]] = {"One": [reply(ECHO), *lasting], "Two": [reply(ECHO), fault.reply, "Seen."]}
    tasks = [
        call("Task", description="x", prompt=prompt, subagent_type="Explore", run_in_background=False)
        for prompt in ("One", "Two")
    ]
    with at(tmp_path, reply(*tasks), "Well.", "More.", agents=agents) as desk, Client(desk) as client:
        assert client.say("first").text == "Well."
        one, two = client.loop.conversation.messages[2]["content"]
        assert (one["is_error"], one_line(one["content"], fault.words)) == (True, True)
        assert bool(two.get("is_error")) is not fault.passes
        assert client.say("second").text == "More."
        for path in client.loop.record.folder.glob("subagents/*.jsonl"):
            sound(path)


@pytest.mark.parametrize("is_first", [True, False], ids=["first", "in the middle"])
def test_a_server_that_is_not_there(tmp_path: Path, is_first: bool) -> None:
    with (
        at(tmp_path, *([] if is_first else ["One."]), "Two.") as desk,
        Client(desk) as client,
        find_closed_address() as nowhere,
    ):
        if not is_first:
            client.say("first")
        client.loop.setup.model = connect_model(endpoint(nowhere), QUICK)
        ended = client.say("second")
        assert ended.reason == "error"
        assert one_line(ended.text, "can't be reached: Connection refused")
        client.loop.setup.model = client.model
        assert client.say("third").text == "Two."


def test_a_sub_agent_whose_server_is_not_there(tmp_path: Path) -> None:
    task = call("Task", description="x", prompt="One", subagent_type="Explore", run_in_background=False)
    with at(tmp_path, reply(task), "Well.", "More.") as desk, Client(desk) as client, find_closed_address() as nowhere:

        def hear(event: TurnEvent) -> None:
            if isinstance(event, CallStarted | CallEnded):
                is_begun = isinstance(event, CallStarted)
                client.loop.setup.model = connect_model(endpoint(nowhere), QUICK) if is_begun else client.model

        client.hear = hear
        assert client.say("first").text == "Well."
        assert "can't be reached" in client.loop.conversation.messages[2]["content"][0]["content"]
        assert client.say("second").text == "More."


def test_retries_are_told(tmp_path: Path) -> None:
    with at(tmp_path, FAULTS["529"].reply, "Two.") as desk, Client(desk) as client:
        client.say()
        (warning,) = client.list_events(WarningIssued)
        assert "529: Overloaded; retrying in" in warning.text


def test_a_summary_that_is_cut_is_asked_for_again(tmp_path: Path) -> None:
    summary = "<summary>So it was.</summary>"
    cut_off = {**reply(says(summary)), "do": cut("text_delta")}
    replies = [reply(says("One."), usage={"input_tokens": 990_000}), cut_off, summary, "Two.", "Three."]
    with at(tmp_path, *replies) as desk, Client(desk) as client:
        client.say("first")
        assert client.say("second").text == "Two."
        assert "So it was." in json.dumps(client.api.bodies[-1])
        client.say("third")


# -- what is strange, and no fault


def test_events_and_blocks_that_nobody_knows_are_kept(tmp_path: Path) -> None:
    mystery = {"type": "mystery", "id": "my_1", "depth": {"a": [1]}}
    unknown = event("weather", sunny=True) + b": a comment\n\nevent: ping\ndata: {}\n\n"
    odd = {**reply(mystery, says("Odd."), ECHO), "do": interrupted_by(unknown)}
    with at(tmp_path, odd, "Two.", "Three.") as desk:
        with Client(desk) as client:
            assert client.say("first").text == "Two."
            assert client.api.bodies[-1]["messages"][1]["content"][0] == mystery
        with Client(desk, is_continued=True) as client:
            assert client.say("second").text == "Three."


def test_an_answer_that_dribbles_is_the_same(tmp_path: Path) -> None:
    with at(tmp_path, {**ANSWER, "do": dribble(7)}, "Two.") as desk, Client(desk) as client:
        assert client.say("first").text == "Two."
        assert client.loop.conversation.messages[1]["content"][1] == says("What was cut.")


def test_a_huge_answer_is_kept_whole(tmp_path: Path) -> None:
    text = "word " * (4 << 20)
    parts = [text[at : at + 4096] for at in range(0, len(text), 4096)]
    many = b"".join(event("content_block_delta", index=0, delta={"type": "text_delta", "text": p}) for p in parts)
    huge = {**reply(says(""), usage={"input_tokens": 10, "output_tokens": 10}), "do": interrupted_by(many)}
    with at(tmp_path, huge, "Two.") as desk, Client(desk) as client:
        assert client.say("first").text == text
        assert client.say("second").text == "Two."


def test_the_input_of_a_call_that_was_cut_by_the_limit_does_not_cost_further_answers(tmp_path: Path) -> None:
    half = event(
        "content_block_start", index=0, content_block={"type": "tool_use", "id": "toolu_h", "name": "Bash", "input": {}}
    )
    half += event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": '{"command": "ec'})
    half += event("content_block_stop", index=0)
    cut_call = {**reply(stop_reason="max_tokens"), "do": interrupted_by(half, 2)}
    with at(tmp_path, cut_call, "Two.", "Three.") as desk:
        with Client(desk) as client:
            assert client.say("first").text == "Two."
            assert "InputValidationError" in json.dumps(client.api.bodies[-1])
            assert len(client.api.bodies) == 2
        with Client(desk, is_continued=True) as client:
            client.say("second")


@pytest.mark.parametrize("given", ["[1]", '"x"', "7", "null"])
def test_a_call_whose_input_is_no_object_is_asked_for_again(tmp_path: Path, given: str) -> None:
    odd = event(
        "content_block_start", index=0, content_block={"type": "tool_use", "id": "toolu_h", "name": "Bash", "input": {}}
    )
    odd += event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": given})
    odd += event("content_block_stop", index=0)
    with at(tmp_path, {**reply(), "do": interrupted_by(odd, 2)}, "Two.") as desk, Client(desk) as client:
        assert client.say("first").text == "Two."


def test_half_of_a_surrogate_pair_in_an_answer_is_no_fault(tmp_path: Path) -> None:
    half = event("content_block_delta", index=0, delta={"type": "text_delta", "text": "a\ud83d"})
    with at(tmp_path, {**reply(says("b")), "do": interrupted_by(half)}, "Two.") as desk, Client(desk) as client:
        assert client.say("first").text == "a\ufffdb"
        assert client.say("second").text == "Two."


# -- taking it back


@pytest.mark.parametrize("after", [0, 2, 4, 7])
def test_a_server_that_hangs_can_be_left(tmp_path: Path, after: int) -> None:
    gate = Gate(after)
    with at(tmp_path, {**ANSWER, "do": gate}, "Two.") as desk, Client(desk) as client:
        cancel = Cancel()
        gate.then(cancel.set)
        assert client.say("first", cancel).reason == "interrupted"
        assert client.say("second").text == "Two."


def test_who_stops_it_while_it_waits_to_try_again_does_not_wait(tmp_path: Path) -> None:
    with at(tmp_path, error(429, "rate_limit_error", **{"retry-after": "100"}), "Two.") as desk, Client(desk) as client:
        cancel = Cancel()
        client.hear = lambda event: cancel.set() if isinstance(event, WarningIssued) else None
        assert client.say("first", cancel).reason == "interrupted"
        assert client.say("second").text == "Two."


# -- as a process

SEEN = ("400", "401", "429 for an hour", "JSON instead", "a page that says 404", "refused while answering")


@pytest.mark.parametrize("name", SEEN)
def test_the_program_tells_a_fault_in_one_line_and_ends_with_status_1(tmp_path: Path, name: str) -> None:
    fault = FAULTS[name]
    with at(tmp_path, reply(ECHO), fault.reply, "Two.") as desk:
        done = desk.turnlog("-p", "first")
        assert (done.returncode, done.stderr, done.stdout.count("\n")) == (1, "", 1)
        assert one_line(done.stdout.rstrip("\n"), fault.words)
        (path,) = desk.config.glob("projects/*/*.jsonl")
        sound(path)
        done = desk.turnlog("-p", "second", "--continue")
        assert (done.returncode, done.stdout, done.stderr) == (0, "Two.\n", "")


def test_the_program_tries_again_and_nothing_is_doubled(tmp_path: Path) -> None:
    with at(tmp_path, FAULTS["529"].reply, FAULTS["cut in a call"].reply, "Two.") as desk:
        done = desk.turnlog("-p", "first", "--output-format", "json")
        assert json.loads(done.stdout)["result"] == "Two."
        (path,) = desk.config.glob("projects/*/*.jsonl")
        assert [message["role"] for message in load_resumable_session(path).messages] == ["user", "assistant"]


def test_the_program_ends_with_a_word_when_nobody_is_there_to_answer(tmp_path: Path) -> None:
    with at(tmp_path) as desk:
        done = desk.turnlog("-p", "first", environ={"ANTHROPIC_BASE_URL": "http://example.org"})
        assert (done.returncode, done.stdout) == (2, "")
        assert "unencrypted" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_the_console_tells_a_fault_and_goes_on(tmp_path: Path) -> None:
    with at(tmp_path, FAULTS["529"].reply, FAULTS["cut in a text"].reply, FAULTS["400"].reply, "Two.") as desk:
        desk.trust()
        with desk.terminal() as terminal:
            for text, told in (("first", "400: no such thing"), ("second", "Two.")):
                terminal.expect("> ")
                terminal.send(f"{text}\r")
                terminal.expect(told)
            terminal.expect("> ")
            terminal.send("\x04")
            assert terminal.wait_for_end() == 0
            assert terminal.text.count("retrying in") == 2
            assert terminal.text.count("400: no such thing") == 1
        (path,) = desk.config.glob("projects/*/*.jsonl")
        sound(path)
