"""Whatever a model says, whatever fails and whoever stops it: requests are valid, and the file says what was said."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.agent.api import Api, cut, error, interrupted_by, reset
from tests.agent.client import Client, in_memory
from tests.agent.desk import Desk, call, reply, says
from tests.model.server import event
from turnlog.agent.events import TurnEvent
from turnlog.model.cancel import Cancel
from turnlog.model.failures import ModelError

WHOLE = reply(
    {"type": "thinking", "thinking": "Hm.", "signature": "bG9zdA=="}, says("Lost."), call("Bash", command="ls")
)
FAULTS = st.sampled_from(
    [
        error(529, "overloaded_error"),
        error(400, "invalid_request_error"),
        {**WHOLE, "do": reset},
        {**WHOLE, "do": cut("text_delta")},
        {**WHOLE, "do": cut("input_json_delta", is_torn=True)},
        {**WHOLE, "do": interrupted_by(event("error", error={"type": "overloaded_error", "message": "no"}), 5)},
        {**WHOLE, "do": interrupted_by(b"data: nope\n\n")},
    ]
)
CALLS = st.sampled_from(
    [
        call("Bash", command="echo hi"),
        call("Bash", command="cat /nowhere"),
        call("Bash", command="true"),
        call("Bash", command="touch /nowhere/at/all"),
        call("Bash"),
        call("Read", file_path="/nowhere"),
        call("Read", file_path="/etc/hostname"),
        call("TodoWrite", todos=[{"content": "a", "status": "pending", "activeForm": "a"}]),
        call("TodoWrite", todos="none"),
        call("Nope", x=["\u2028", 1.5, None]),
        call("Task", description="x", prompt="One", subagent_type="Explore", run_in_background=False),
    ]
)
TEXTS = st.one_of(
    st.sampled_from(["", " ", "\n\u2028", "Hello.", "“Grüße” \U0001f34e\x00\x1b[0m"]), st.text(max_size=12)
)


@st.composite
def answers(draw: st.DrawFn) -> dict[str, Any]:
    """Thinking, texts and calls, in the order in which models give them."""
    thoughts = TEXTS.map(lambda text: {"type": "thinking", "thinking": text})
    hidden = st.just({"type": "redacted_thinking"})
    thought = draw(st.lists(st.one_of(thoughts, hidden), max_size=1))
    spoken = draw(st.lists(TEXTS.map(says), max_size=2))
    called = draw(st.lists(CALLS, max_size=4))
    full: dict[str, Any] = {"usage": {"input_tokens": 990_000}}
    more = draw(st.sampled_from([{}, {}, {}, full] if called else [{}, {}, {}, full, {"stop_reason": "max_tokens"}]))
    return reply(*thought, *spoken, *called, **more)


PROMPTS = st.text(min_size=1, max_size=8).filter(lambda text: bool(text.strip()))
STEPS = st.one_of(
    st.tuples(st.just("say"), PROMPTS, st.none() | st.integers(1, 40)),
    st.tuples(st.just("say"), PROMPTS, st.none()),
    st.tuples(st.just("command"), st.sampled_from(["/model sonnet", "/model opus", "/compact", "/compact be brief"])),
    st.tuples(st.just("begin"), st.sampled_from([{"model": "opus"}, {"model": None}, {"is_forked": True}])),
)


@pytest.mark.slow
@settings(max_examples=max(25, (settings.default.max_examples if settings.default else 0) // 10))
@given(st.lists(st.one_of(answers(), answers(), FAULTS), max_size=10), PROMPTS, st.lists(STEPS, max_size=5))
@example([{"content": []}, {"content": []}], "0", [("begin", {"model": "opus"}), ("command", "/compact")])
def test_any_conversation_is_sent_and_written_as_it_was(script: list[Any], prompt: str, steps: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder, Api(vary_signatures(script), {"One": ["Seen."]}) as api:
        desk = Desk(Path(folder), api)
        client = Client(desk)
        try:
            client.say(prompt)
            for step in steps:
                client = do_step(client, *step)
            said = in_memory(client.loop.conversation.messages)
            client = do_step(client, "begin", {})
            assert in_memory(client.loop.conversation.messages)[: len(said)] == said
            client.say("and again")
        finally:
            client.__exit__()


def do_step(client: Client, kind: str, *words: Any) -> Client:
    """Do something with a session; the one that it goes on with."""
    if kind == "say":
        client.say(words[0], impatient(client, words[1]))
    elif kind == "command":
        with contextlib.suppress(ModelError):  # of a summary that fails, the conversation knows nothing
            client.command(words[0])
        if client.path.exists():  # a fork is not written before something is said in it
            client.must_be_sound()
    else:
        client.__exit__()
        return Client(client.desk, **{"is_continued": True, **words[0]})
    return client


def impatient(client: Client, patience: int | None) -> Cancel:
    """A person who stops the turn after so many things have happened."""
    cancel = Cancel()
    left = [patience]

    def hear(event: TurnEvent) -> None:
        left[0] = None if left[0] is None else left[0] - 1
        if left[0] == 0:
            cancel.set()

    client.hear = hear
    return cancel


def vary_signatures(script: list[Any]) -> list[Any]:
    """A script in which no thinking is sealed like another."""
    for number, step in enumerate(script):
        for block in step.get("content", ()):
            if block["type"] in ("thinking", "redacted_thinking"):
                block["signature" if block["type"] == "thinking" else "data"] = f"c2ln{number:04}"
    return script
