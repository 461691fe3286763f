"""The shape that the Messages API asks for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.build import outcome, use
from turnlog.session.resume.api_shape import SHAPE_RULES, find_breaches

TEXT = {"type": "text", "text": "hi"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "abc"}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


SYSTEM = {"role": "system", "content": [TEXT]}


@pytest.mark.parametrize(
    ("messages", "broken"),
    [
        ([], []),
        ([user(TEXT), assistant(THOUGHT, TEXT, use("c1")), user(outcome("c1")), assistant(TEXT)], []),
        ([SYSTEM, user(TEXT), SYSTEM, assistant(TEXT)], []),
        ([assistant(TEXT)], [("api-first", 0)]),
        ([user(TEXT), user(TEXT)], [("api-same-role", 1)]),
        ([user()], [("api-empty", 0)]),
        ([user({"type": "text", "text": " "})], [("api-empty", 0)]),
        ([user({"type": "text", "text": 5})], [("api-empty", 0)]),
        ([user(TEXT), assistant(use("c1")), user(TEXT)], [("api-unanswered", 2)]),
        ([user(outcome("c1"))], [("api-orphan", 0)]),
        ([user(TEXT), assistant(TEXT), user(outcome("c1"))], [("api-orphan", 2)]),
        ([user(TEXT), assistant(TEXT, THOUGHT)], [("api-last-thinking", 1)]),
        ([user(TEXT), assistant(use("c1"), THOUGHT, TEXT), user(outcome("c1"))], [("api-late-thinking", 1)]),
        (
            [user(TEXT), assistant(use("c1")), user(outcome("c1")), assistant(use("c1")), user(outcome("c1"))],
            [("api-ids", 1), ("api-ids", 3)],
        ),
    ],
)
def test_what_breaks_the_shape_is_told_with_its_message(
    messages: list[dict[str, Any]], broken: list[tuple[str, int]]
) -> None:
    assert [tuple(breach) for breach in find_breaches(messages)] == broken
    assert {rule for rule, _ in broken} <= SHAPE_RULES.keys()
