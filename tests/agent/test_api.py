"""The server that looks at requests: each of its rules refuses something, and nothing that is right."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.agent.api import Api
from tests.agent.desk import reply, says
from tests.agent.rules import Memory, find_refusal
from tests.agent.talk import PIXEL
from turnlog.agent.conversation import CLEARED_RESULT_TEXT

Body = dict[str, Any]
HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01", "content-type": "application/json"}
MARK = {"cache_control": {"type": "ephemeral"}}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
SECRET = {"type": "redacted_thinking", "data": "b3BhcXVl"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
ANSWER = {
    "model": "m",
    "content": [THOUGHT, SECRET, says("I look."), SEARCH, FOUND, *(
        {"type": "tool_use", "id": f"toolu_{name}", "name": "Bash", "input": {"command": name}} for name in "ab"
    )],
}  # fmt: skip


def result(name: str, content: Any = "done", **more: Any) -> Body:
    return {"type": "tool_result", "tool_use_id": f"toolu_{name}", "content": content, **more}


def image(data: str = PIXEL, kind: str = "image/png") -> Body:
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def first() -> Body:
    """The first request of a conversation."""
    return {
        "model": "m",
        "max_tokens": 100,
        "stream": True,
        "system": [says("You are m."), {**says("Be good."), **MARK}],
        "tools": [{"name": "Bash", "description": "Runs.", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": [says("hello"), {**says("there"), **MARK}]}],
    }


def second() -> Body:
    """The request behind the answer to the first."""
    body = first()
    results = [result("a", [says("seen"), image()]), result("b", is_error=True), {**says("and"), **MARK}]
    body["messages"] += [
        {"role": "assistant", "content": copy.deepcopy(ANSWER["content"])},
        {"role": "user", "content": results},
    ]
    return body


def build_memory() -> Memory:
    memory = Memory()
    assert find_refusal(first(), HEADERS, memory) is None
    memory.gave(copy.deepcopy(ANSWER))
    return memory


def test_what_is_right_is_taken() -> None:
    memory = build_memory()
    assert find_refusal(second(), HEADERS, memory) is None
    assert find_refusal(second(), HEADERS, memory) is None
    third = second()
    del third["messages"][0]["content"][1]["cache_control"]
    third["messages"][2]["content"][0]["content"] = CLEARED_RESULT_TEXT
    third["messages"] += [
        {"role": "assistant", "content": [says("ok")]},
        {"role": "user", "content": [{**says("go"), **MARK}]},
    ]
    assert find_refusal(third, HEADERS, memory) is None


def user(body: Body) -> list[Body]:
    return body["messages"][2]["content"]  # type: ignore[no-any-return]


def get_answer_content(body: Body) -> list[Body]:
    return body["messages"][1]["content"]  # type: ignore[no-any-return]


WRONG: dict[str, tuple[Callable[[Body], object], str]] = {
    "a field": (lambda b: b.update(nope=1), "fields that there are not: nope"),
    "no model": (lambda b: b.pop("model"), "model"),
    "max_tokens": (lambda b: b.update(max_tokens=0), "max_tokens"),
    "max_tokens of the model": (lambda b: b.update(model="claude-3-haiku", max_tokens=5000), "5000 > 4096"),
    "no stream": (lambda b: b.pop("stream"), "stream"),
    "a budget above the limit": (
        lambda b: b.update(thinking={"type": "enabled", "budget_tokens": 5000}),
        "budget_tokens",
    ),
    "an empty system": (lambda b: b["system"][0].update(text=" "), "system"),
    "two tools of a name": (lambda b: b["tools"].append(b["tools"][0]), "names must be unique"),
    "a tool's name": (lambda b: b["tools"][0].update(name="a b"), "tools: a name"),
    "a tool's schema": (lambda b: b["tools"][0].pop("input_schema"), "the schema of Bash"),
    "no messages": (lambda b: b.update(messages=[]), "at least one"),
    "a message's field": (lambda b: b["messages"][0].update(id="x"), "messages.0: role and content"),
    "a message's role": (lambda b: b["messages"][0].update(role="system"), "messages.0: role and content"),
    "empty content": (lambda b: b["messages"][0].update(content=[]), "messages.0: content must be non-empty"),
    "blank content": (lambda b: b["messages"][0].update(content=" \n"), "messages.0: content must be non-empty"),
    "an assistant first": (lambda b: b["messages"].pop(0), "the first must be the user's"),
    "two of a role": (lambda b: b["messages"].insert(0, b["messages"][0]), "roles must alternate"),
    "an assistant last": (lambda b: b["messages"].pop(), "the last must be the user's"),
    "a block without a type": (lambda b: user(b)[2].pop("type"), "a block without a type"),
    "a block's field": (lambda b: user(b)[2].update(nope=1), "text: fields that there are not"),
    "a result of the assistant": (lambda b: get_answer_content(b).append(result("a")), "tool_result of the assistant"),
    "a call of the user": (lambda b: user(b).append(get_answer_content(b)[-1]), "tool_use of the user"),
    "an empty text": (lambda b: user(b)[2].update(text=""), "text content blocks must be non-empty"),
    "a blank text": (lambda b: get_answer_content(b)[2].update(text="\n"), "text content blocks must be non-empty"),
    "thinking without a signature": (lambda b: get_answer_content(b)[0].pop("signature"), "without a signature"),
    "thinking without data": (lambda b: get_answer_content(b)[1].update(data=""), "without its data"),
    "thinking last": (lambda b: get_answer_content(b).append({**THOUGHT}), "the final block in an assistant message"),
    "an image that is none": (lambda b: user(b).append(image("AAAA")), "not PNG"),
    "an image in a result": (lambda b: user(b)[0]["content"].append(image(kind="image/bmp")), "image/bmp"),
    "a call's id": (lambda b: get_answer_content(b)[-1].update(id="a b"), "tool_use: id"),
    "a call's name": (lambda b: get_answer_content(b)[-1].update(name=""), "tool_use: name"),
    "a call's input": (lambda b: get_answer_content(b)[-1].update(input=[]), "input must be an object"),
    "a result's id": (lambda b: user(b)[0].update(tool_use_id=None), "tool_result: tool_use_id"),
    "an empty error": (lambda b: user(b)[1].update(content=""), "content cannot be empty if is_error is true"),
    "an empty list as error": (lambda b: user(b)[1].update(content=[]), "content cannot be empty"),
    "an empty text in a result": (lambda b: user(b)[0]["content"][0].update(text=""), "must be non-empty"),
    "a reference in a result": (
        lambda b: user(b)[0].update(content=[{"type": "tool_reference"}]),
        "tool_reference in it",
    ),
    "a call without a result": (lambda b: user(b).pop(0), "without tool_result blocks immediately after: ['toolu_a']"),
    "two results of a call": (lambda b: user(b).insert(0, result("a")), "a single result"),
    "a result without a call": (lambda b: user(b).insert(0, result("c")), "unexpected tool_use_id"),
    "results behind a text": (lambda b: user(b).insert(0, user(b).pop()), "must come first"),
    "two calls of an id": (lambda b: get_answer_content(b).append(get_answer_content(b)[-1]), "ids must be unique"),
    "a search without its call": (
        lambda b: get_answer_content(b).pop(3),
        "web_search_tool_result without its server_tool_use",
    ),
    "a search without its result": (
        lambda b: (
            b["messages"].insert(1, {"role": "assistant", "content": [SEARCH]})
            or b["messages"].insert(2, {"role": "user", "content": [says("and")]})
        ),
        "server_tool_use without its result",
    ),
    "five marks": (lambda b: [block.update(MARK) for block in get_answer_content(b)[-2:]], "a maximum of 4"),
    "a mark on thinking": (lambda b: get_answer_content(b)[0].update(MARK), "cache_control where none may be"),
    "a mark of another kind": (lambda b: user(b)[2].update(cache_control={"type": "x"}), "cache_control where none"),
    "half of a surrogate pair": (lambda b: user(b)[2].update(text="\ud83d"), "surrogate"),
    "thinking that was changed": (lambda b: get_answer_content(b)[0].update(thinking="Ha."), "cannot be modified"),
    "thinking of nobody": (lambda b: get_answer_content(b)[0].update(signature="bm9ib2R5"), "invalid signature"),
    "thinking of another model": (lambda b: b.update(model="n"), "signed for m, not for n"),
    "thinking that is missing": (
        lambda b: get_answer_content(b).pop(1),
        "what the model thought before it called is missing",
    ),
    "a call that was changed": (lambda b: get_answer_content(b)[-1].update(input={}), "is not what the model said"),
    "a search that was changed": (lambda b: get_answer_content(b)[4].update(content=[1]), "is not what the model said"),
    "no mark at the end": (lambda b: user(b)[2].pop("cache_control"), "the last block has no mark"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_with_the_reason(name: str) -> None:
    change, words = WRONG[name]
    body = second()
    change(body)
    assert words in (find_refusal(body, HEADERS, build_memory()) or "taken")


@pytest.mark.parametrize("name", HEADERS)
def test_a_request_without_its_headers_is_refused(name: str) -> None:
    headers = {key: value for key, value in HEADERS.items() if key != name}
    assert (find_refusal(first(), headers, Memory()) or "").startswith("headers: ")


def test_a_call_of_a_tool_that_is_not_offered_is_refused() -> None:
    body = second()
    get_answer_content(body)[:] = get_answer_content(body)[-2:]
    body["tools"][0]["name"] = "Read"
    assert find_refusal(body, HEADERS, Memory()) == "tool_use: there is no tool Bash"
    assert find_refusal(body, HEADERS, Memory(names=["Bash"])) is None


def build_long_body(*turns: Body) -> Body:
    """A conversation of many turns, as the client would mark it."""
    body = first()
    del body["messages"][0]["content"][1]["cache_control"]
    for turn in copy.deepcopy(turns):
        body["messages"] += [{"role": "assistant", "content": [says("ok")]}, {"role": "user", "content": [turn]}]
    for message in body["messages"][-3::2]:
        message["content"][-1].update(MARK)
    return body


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body["messages"][2]["content"][0].update(text="TWO"),
        lambda body: body["messages"].__delitem__(slice(1, 3)),
        lambda body: body["messages"][2].update(content=[says("more"), says("two")]),
    ],
    ids=["a word", "a turn", "something in between"],
)
def test_a_beginning_that_does_not_stay_is_refused(change: Callable[[Body], object]) -> None:
    memory = Memory()
    turns = [says("two"), says("three"), says("four")]
    assert find_refusal(build_long_body(*turns[:2]), HEADERS, memory) is None
    assert find_refusal(build_long_body(*turns), HEADERS, copy.deepcopy(memory)) is None
    body = build_long_body(*turns)
    change(body)
    assert "the beginning is not that of the request before" in (find_refusal(body, HEADERS, memory) or "taken")


def test_marks_that_do_not_find_what_is_remembered_are_refused() -> None:
    memory = Memory()
    turns = [says("two"), says("three")]
    assert find_refusal(build_long_body(*turns), HEADERS, memory) is None
    further = [says(f"{number}") for number in range(15)]
    assert "is found again" in (find_refusal(build_long_body(*turns, *further), HEADERS, memory) or "taken")


def test_the_server_answers_in_the_api_s_words() -> None:
    with Api([reply(says("Hi."))]) as api:
        answers = []
        for body in (first(), {**first(), "messages": []}):
            request = Request(f"{api.url}/v1/messages", json.dumps(body).encode(), HEADERS)
            try:
                with urlopen(request) as answer:
                    answers.append((answer.status, b"message_stop" in answer.read()))
            except HTTPError as failed:
                with failed:
                    answers.append((failed.code, json.loads(failed.read())["error"]["type"]))
        assert answers == [(200, True), (400, "invalid_request_error")]
        assert api.refused == ["messages: at least one is needed"]
