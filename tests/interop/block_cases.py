"""Hand-made files whose messages and blocks are odd."""

from __future__ import annotations

from typing import Any

from tests.interop.case_rows import (
    base,
    build_calls,
    call,
    change_row,
    content,
    image,
    raw,
    result,
    row,
    text,
    uid,
    without,
)
from tests.interop.classify import Object

STRANGE: Object = {"type": "wombat", "x": 1}
SEARCH: Object = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}}
FOUND: Object = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}


def block_cases() -> dict[str, bytes]:
    """Name and bytes of each file."""
    made = messages() | blocks() | results() | orders() | calls() | thoughts() | build_server_tool_cases()
    return {name: raw(rows) for name, rows in made.items()}


def build_with_result(**fields: Any) -> list[Object]:
    """A session with another first result."""
    return build_calls(call(), [result(**fields), result("c2")])


def using(**fields: Any) -> list[Object]:
    """A session with another first call."""
    return build_calls(call(**fields), [result(), result("c2")])


def messages() -> dict[str, list[Object]]:
    """Messages and contents of a wrong type, or empty."""
    return {
        "message-string-user": change_row(2, message="plain"),
        "message-null-assistant": change_row(3, message=None),
        "message-missing-user": without(base(), 2, "message"),
        "message-missing-leaf": without(base(), 5, "message"),
        "content-null-user": content(2, None),
        "content-number-assistant": content(3, 5),
        "content-object-user": content(2, text("obj")),
        "content-string-assistant": content(3, "a2 string"),
        "content-empty-string-assistant": content(3, ""),
        "content-no-blocks-user": content(2, []),
        "content-no-blocks-assistant": content(3, []),
        "content-blank-user": content(2, "  \n "),
        "content-empty-text-user": content(2, [text("")]),
        "content-empty-text-beside": content(2, [text(""), text("u2 text"), text("  ")]),
    }


def blocks() -> dict[str, list[Object]]:
    """Blocks of unknown, wrong or misplaced kinds."""
    return {
        "block-unknown-user": content(2, [text("u2 text"), STRANGE]),
        "block-unknown-assistant": content(3, [text("a2 text"), STRANGE]),
        "block-unknown-alone": content(3, [STRANGE]),
        "block-without-type": content(2, [text("u2 text"), {"x": 1}]),
        "block-string": content(3, [text("a2 text"), "plain"]),
        "block-null": content(2, [text("u2 text"), None]),
        "block-list": content(2, [text("u2 text"), [text("in")]]),
        "block-text-without-text": content(2, [{"type": "text"}, text("u2 text")]),
        "block-text-number": content(2, [{"type": "text", "text": 5}, text("u2 text")]),
        "block-text-null-alone": content(3, [{"type": "text", "text": None}]),
        "block-image-assistant": content(3, [text("a2 text"), image()]),
        "block-call-in-a-user-row": content(2, [text("u2 text"), call(id="c9")]),
        "block-result-in-an-assistant-row": content(3, [text("a2 text"), result("c9")]),
    }


def results() -> dict[str, list[Object]]:
    """Results with strange contents."""
    return {
        "result-null": build_with_result(content=None),
        "result-absent": build_with_result(content=...),
        "result-no-blocks": build_with_result(content=[]),
        "result-empty": build_with_result(content=""),
        "result-object": build_with_result(content={"a": 1}),
        "result-number": build_with_result(content=5),
        "result-texts-one-empty": build_with_result(content=[text("x"), text(""), text("y")]),
        "result-unknown-block": build_with_result(content=[text("x"), STRANGE]),
        "result-error-string": build_with_result(is_error="true"),
        "result-error-with-image": build_with_result(is_error=True, content=[text("bad"), text("worse"), image()]),
        "result-error-image-only": build_with_result(is_error=True, content=[image()]),
        "result-without-id": build_with_result(tool_use_id=...),
    }


def orders() -> dict[str, list[Object]]:
    """Texts and results in one row, and in several."""
    one, two, words = result(), result("c2"), text("x")
    return {
        "order-reversed": build_calls(call(), [two, one]),
        "order-twice": build_calls(call(), [one, result(content="again"), two]),
        "order-text-first": build_calls(call(), [words, one, two]),
        "order-text-between": build_calls(call(), [one, words, two]),
        "order-text-last": build_calls(call(), [one, two, words]),
        "order-text-first-two-rows": build_calls(call(), [words, one], [two]),
        "order-text-in-the-second-row": build_calls(call(), [one], [words, two]),
        "order-prompt-between": build_calls(call(), [one], "x", [two]),
        "order-prompt-first": build_calls(call(), "x", [one, two]),
        "order-text-between-then-prompt": build_calls(call(), [one, words, two], "y"),
    }


def calls() -> dict[str, list[Object]]:
    """Calls with strange fields."""
    return {
        "call-input-string": using(input="ls -l"),
        "call-input-missing": using(input=...),
        "call-input-null": using(input=None),
        "call-input-list": using(input=[1]),
        "call-without-id": using(id=...),
        "call-empty-id": using(id=""),
        "call-number-id": using(id=1),
        "call-number-id-on-both": build_calls(call(id=1), [result(tool_use_id=1), result("c2")]),
        "call-without-name": using(name=...),
        "call-unknown-name": using(name="Zorgle"),
        "call-task": using(name="Task", input={"prompt": "p", "x": 1}),
    }


def spread(*blocks: Object) -> list[Object]:
    """A session with an answer in a row for each block, and results of its calls, instead of a1 and u2."""
    rows = base()
    made, parent = rows[:1], 1
    for number, block in enumerate(blocks, 50):
        made.append(row(number, parent, "assistant", [block], timestamp=f"2026-01-01T10:02:{number - 50:02d}.000Z"))
        made[-1]["message"]["id"], parent = "msg_2", number
    if answers := [result(block["id"]) for block in blocks if block["type"] == "tool_use"]:
        made.append(row(60, parent, "user", answers, timestamp="2026-01-01T10:02:30.000Z"))
        parent = 60
    rows[3]["parentUuid"] = uid(parent)
    return made + rows[3:]


def thoughts() -> dict[str, list[Object]]:
    """Thinking, texts and calls in one answer."""
    one, two = ({"type": "thinking", "thinking": name, "signature": f"c2ln{name}"} for name in "AB")
    first, second, words = call(), call(id="c2"), text("x")
    return {
        "thoughts-around-a-call": spread(one, first, two, second, words),
        "thoughts-around-a-call-then-text": spread(one, first, two, words),
        "thoughts-behind-a-call": spread(first, one, two, words, second),
        "thoughts-apart-by-a-text": spread(one, words, first, two, text("y"), second),
        "thought-before-a-call": spread(one, first, words, second),
        "thought-between-calls": spread(first, one, words, second),
    }


def build_server_tool_cases() -> dict[str, list[Object]]:
    """Calls of the server's own tools."""
    advice: Object = {"type": "advisor_tool_result", "tool_use_id": "s1", "content": {"text": "x"}}
    other: Object = {"type": "mcp_tool_use", "id": "s1", "name": "x", "server_name": "s", "input": {}}
    back: Object = {"type": "mcp_tool_result", "tool_use_id": "s1", "is_error": False, "content": []}
    return {
        "served-search": spread(text("x"), SEARCH, FOUND, text("y")),
        "served-search-beside-a-call": spread(SEARCH, FOUND, call(), text("y")),
        "served-search-without-a-result": spread(text("x"), SEARCH, text("y")),
        "served-result-without-a-search": spread(text("x"), FOUND, text("y")),
        "served-advice": spread(text("x"), {**SEARCH, "name": "advisor", "input": {}}, advice, text("y")),
        "served-mcp": spread(text("x"), other, back, text("y")),
        "served-mcp-without-a-result": spread(text("x"), other, text("y")),
    }
