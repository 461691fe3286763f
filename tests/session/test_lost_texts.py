"""Answers whose text the client lost differ from answers that said nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.build import Build, use
from turnlog.edit.illnesses.catalogue import diagnose_session
from turnlog.session.lost_texts import count_lost_tokens, describe_lost_text

THOUGHT = {"type": "thinking", "thinking": "", "signature": "c2ln"}
TEXT = {"type": "text", "text": "Here it is."}


def count(
    *blocks: Any, stop: str | None = "tool_use", output: int = 595, version: str = "2.1.220", **fields: Any
) -> Any:
    """The tokens of an answer that the client writes line by line."""
    build = Build(version)
    build.prompt("go")
    for block in blocks:
        usage = {"input_tokens": 1, "output_tokens": output}
        build.answer(block, id="m1", stop=stop, usage=usage, **fields)
    (message,) = build.session().messages
    return count_lost_tokens(message)


@pytest.mark.parametrize(
    ("blocks", "stop"),
    [
        ([THOUGHT, THOUGHT, use("c1")], "tool_use"),
        ([{"type": "redacted_thinking", "data": "x"}, THOUGHT, use("c1"), use("c2")], "tool_use"),
        ([THOUGHT], "end_turn"),
    ],
)
def test_an_answer_around_which_only_thinking_is_left_has_lost_its_text(blocks: list[Any], stop: str) -> None:
    assert count(*blocks, stop=stop) == 595


@pytest.mark.parametrize(
    ("blocks", "fields"),
    [
        ([THOUGHT, use("c1")], {}),
        ([THOUGHT, TEXT, THOUGHT, use("c1")], {}),
        ([THOUGHT, use("c1"), THOUGHT, use("c2")], {}),
        ([THOUGHT], {"stop": None}),
        ([THOUGHT], {"stop": "max_tokens"}),
        ([THOUGHT, THOUGHT, use("c1")], {"output": 99}),
        ([THOUGHT, THOUGHT, use("c1")], {"version": "2.1.29", "stop": None}),
        ([THOUGHT, THOUGHT, use("c1")], {"model": "glm-5"}),
        ([THOUGHT, THOUGHT], {"stop": "end_turn", "model": "<synthetic>"}),
        ([TEXT], {"stop": "end_turn"}),
    ],
)
def test_an_answer_that_may_be_whole_is_not_reported(blocks: list[Any], fields: dict[str, Any]) -> None:
    assert count(*blocks, **fields) is None


def test_an_answer_without_usage_or_content_is_not_reported() -> None:
    build = Build()
    build.answer(THOUGHT, THOUGHT)
    build.answer(usage={"output_tokens": 500})
    assert [count_lost_tokens(message) for message in build.session().messages] == [None, None]


def test_the_doctor_names_the_tokens() -> None:
    build = Build("2.1.220")
    build.prompt("go")
    build.answer(THOUGHT, THOUGHT, use("c1"), stop="tool_use", usage={"output_tokens": 1595})
    build.result("c1")
    (symptom,) = diagnose_session(build.session())
    assert (symptom.kind, symptom.severity) == ("lost-text", "warning")
    assert symptom.text == "an answer's text is missing here (1,595 tokens billed)"
    assert describe_lost_text(None) == ""
