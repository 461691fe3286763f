"""Two conversations are compared by what they mean, not by what the client adds."""

from __future__ import annotations

from typing import Any

import pytest

from tests.interop.classify import Object
from tests.interop.digest import difference, digests
from tests.interop.normalise import NEXT, normalise

CALL = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls"}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "a.py"}


def text(words: str) -> Object:
    return {"type": "text", "text": words}


def user(*content: Any) -> Object:
    return {"role": "user", "content": content[0] if isinstance(content[0], str) else list(content)}


def assistant(*content: Any) -> Object:
    return {"role": "assistant", "content": list(content)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param([user("hi")], [user(text(" hi\n"))], id="string-content-is-one-text-stripped"),
        pytest.param([user("hi")], [user(text("hi") | {"cache_control": {}})], id="cache-control"),
        pytest.param([user("a"), user("b")], [user(text("a"), text("b"))], id="adjacent-messages"),
        pytest.param([user("hi")], [user(text("<system-reminder>x</system-reminder>"), text("hi"))], id="reminders"),
        pytest.param([user("hi")], [{"role": "system", "content": "env"}, user("hi")], id="system-messages"),
        pytest.param([user("hi")], [user("hi"), user(NEXT)], id="the-next-prompt"),
        pytest.param([user("hi")], [user("hi"), assistant(text("No response requested."))], id="filler"),
        pytest.param([user("hi")], [user("hi"), assistant(text("(no content)"))], id="no-content"),
        pytest.param([user("hi")], [user("hi"), assistant({"type": "thinking", "thinking": "x"})], id="thinking"),
        pytest.param([user("hi")], [user("hi"), assistant(CALL)], id="call-without-result"),
        pytest.param([user("hi")], [user(text("hi"), RESULT)], id="result-without-call"),
        pytest.param(
            [user("hi"), assistant(CALL | {"name": "Task"}), user(RESULT)],
            [user("hi"), assistant(CALL | {"name": "Agent"}), user(RESULT | {"is_error": False})],
            id="task-is-agent",
        ),
        pytest.param(
            [user("more")],
            [
                {
                    "role": "system",
                    "content": "The user sent a new message while you were working:\nmore\n\nIMPORTANT: x",
                }
            ],
            id="queued-prompt",
        ),
    ],
)
def test_what_means_the_same_is_the_same(one: list[Object], other: list[Object]) -> None:
    assert difference(digests(one), digests(other)) is None


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        pytest.param([user("a")], [user("b")], "message 0 of 1/1, block 0", id="other-text"),
        pytest.param([user("a")], [user("a"), assistant(text("b"))], "client end", id="one-more"),
        pytest.param([user("a")], [assistant(text("a"))], "turnlog assistant text 'a'", id="other-role"),
        pytest.param(
            [user("a"), assistant(CALL), user(RESULT)],
            [user("a"), assistant(CALL | {"input": {}}), user(RESULT)],
            "message 1",
            id="other-input",
        ),
        pytest.param(
            [user("a"), assistant(CALL), user(RESULT)],
            [user("a"), assistant(CALL), user(RESULT | {"is_error": True})],
            "message 2",
            id="other-outcome",
        ),
    ],
)
def test_a_difference_is_told_with_its_place(one: list[Object], other: list[Object], words: str) -> None:
    assert words in (difference(digests(one), digests(other)) or "")


def test_an_earlier_filler_is_a_row_of_the_file_and_counts() -> None:
    filler = assistant(text("No response requested."))
    assert normalise([user("a"), filler, user("b"), assistant(text("c"))])[1] == filler


def test_the_digests_are_those_of_the_recordings() -> None:
    assert digests([user("First question")])[0]["blocks"][0]["digest"] == "594a84d68561dac1"
