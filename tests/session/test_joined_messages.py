"""Parts are joined into messages in the order of the client, however many there are."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from turnlog.session.resume.joined_messages import AnswerBlocks, join_parts
from turnlog.session.resume.parts import MessagePart

Json = dict[str, Any]
THOUGHTS = ("thinking", "redacted_thinking")

blocks = st.one_of(
    st.sampled_from(["thinking", "redacted_thinking", "text"]).map(lambda kind: {"type": kind}),
    st.sampled_from(["a", "b", "c", None]).map(lambda name: {"type": "tool_use", "id": name}),
)


def extend(known: list[Json], more: list[Json]) -> list[Json]:
    """The rule as it is stated: calls come last, unless that would make separate thinking blocks adjacent."""
    repeated = [block["id"] for block in more if block["type"] == "tool_use"]
    whole = [block for block in known if block["type"] != "tool_use" or block["id"] not in repeated] + more
    moved = sorted(whole, key=lambda block: block["type"] == "tool_use")
    return whole if count_adjacent_thoughts(moved) > count_adjacent_thoughts(whole) else moved


def count_adjacent_thoughts(found: list[Json]) -> int:
    return sum(one["type"] in THOUGHTS and other["type"] in THOUGHTS for one, other in pairwise(found))


@given(st.lists(st.lists(blocks, max_size=5), min_size=1, max_size=9))
def test_the_blocks_of_an_answer_have_the_order_that_the_rule_gives(parts: list[list[Json]]) -> None:
    numbered = [[{**block, "n": f"{at}.{n}"} for n, block in enumerate(part)] for at, part in enumerate(parts)]
    expected, answer = list(numbered[0]), AnswerBlocks(numbered[0])
    for part in numbered[1:]:
        expected = extend(expected, part)
        answer.extend(part)
    assert answer.list_blocks() == expected


def say(name: str | None, text: str) -> MessagePart:
    return MessagePart("assistant", [{"type": "text", "text": text}], name)


def give(text: str, kind: str = "text") -> MessagePart:
    return MessagePart("user", [{"type": kind, "text": text}])


def join(*parts: MessagePart) -> list[str]:
    return ["".join(block["text"] for block in part.blocks) for part in join_parts(parts)]


def test_a_later_part_joins_its_answer_across_results_but_not_across_a_prompt() -> None:
    assert join(say("m", "a"), give("r", "tool_result"), say("m", "b")) == ["ab", "r"]
    assert join(say("m", "a"), give("p"), say("m", "b"), say("m", "c")) == ["a", "p", "bc"]
    assert join(say("m", "a"), give("p"), give("r", "tool_result"), say("m", "b")) == ["ab", "rp"]
    assert join(say("m", "a"), say("n", "x"), give("r", "tool_result"), say("m", "b")) == ["ab", "x", "r"]
    assert join(say(None, "a"), say(None, "b")) == ["a", "b"]


def test_the_text_of_the_system_follows_the_user_message() -> None:
    system = MessagePart("system", [{"type": "text", "text": "s"}])
    assert join(say("m", "a"), system, give("p"), system, give("q"), say("n", "b")) == ["a", "pq", "ss", "b"]
