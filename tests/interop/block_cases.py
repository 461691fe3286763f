"""Hand-made files whose messages and blocks are odd."""

from __future__ import annotations

from typing import Any

from tests.interop.case_rows import base, call, called, changed, content, image, raw, result, text, without
from tests.interop.classify import Object

STRANGE: Object = {"type": "wombat", "x": 1}


def block_cases() -> dict[str, bytes]:
    """Name and bytes of each file."""
    made = messages() | blocks() | results() | orders() | calls()
    return {name: raw(rows) for name, rows in made.items()}


def answered(**fields: Any) -> list[Object]:
    """A session with another first result."""
    return called(call(), [result(**fields), result("c2")])


def using(**fields: Any) -> list[Object]:
    """A session with another first call."""
    return called(call(**fields), [result(), result("c2")])


def messages() -> dict[str, list[Object]]:
    """Messages and contents of a wrong type, or empty."""
    return {
        "message-string-user": changed(2, message="plain"),
        "message-null-assistant": changed(3, message=None),
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
        "result-null": answered(content=None),
        "result-absent": answered(content=...),
        "result-no-blocks": answered(content=[]),
        "result-empty": answered(content=""),
        "result-object": answered(content={"a": 1}),
        "result-number": answered(content=5),
        "result-texts-one-empty": answered(content=[text("x"), text(""), text("y")]),
        "result-unknown-block": answered(content=[text("x"), STRANGE]),
        "result-error-string": answered(is_error="true"),
        "result-error-with-image": answered(is_error=True, content=[text("bad"), text("worse"), image()]),
        "result-error-image-only": answered(is_error=True, content=[image()]),
        "result-without-id": answered(tool_use_id=...),
    }


def orders() -> dict[str, list[Object]]:
    """Texts and results in one row, and in several."""
    one, two, words = result(), result("c2"), text("x")
    return {
        "order-reversed": called(call(), [two, one]),
        "order-twice": called(call(), [one, result(content="again"), two]),
        "order-text-first": called(call(), [words, one, two]),
        "order-text-between": called(call(), [one, words, two]),
        "order-text-last": called(call(), [one, two, words]),
        "order-text-first-two-rows": called(call(), [words, one], [two]),
        "order-text-in-the-second-row": called(call(), [one], [words, two]),
        "order-prompt-between": called(call(), [one], "x", [two]),
        "order-prompt-first": called(call(), "x", [one, two]),
        "order-text-between-then-prompt": called(call(), [one, words, two], "y"),
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
        "call-number-id-on-both": called(call(id=1), [result(tool_use_id=1), result("c2")]),
        "call-without-name": using(name=...),
        "call-unknown-name": using(name="Zorgle"),
        "call-task": using(name="Task", input={"prompt": "p", "x": 1}),
    }
