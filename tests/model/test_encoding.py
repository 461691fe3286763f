"""What is sent, byte by byte: a conversation that goes on is encoded once, and means the same all the time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.model.encoding import Encoder, encoded
from turnlog.model.request import Messages, Request

TEXTS = st.text(max_size=8)
MESSAGES = st.builds(lambda text: {"role": "user", "content": [{"type": "text", "text": text}]}, TEXTS)


def said(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def sent(encoder: Encoder, messages: Any, /, **head: Any) -> Any:
    """What a server reads."""
    with encoder.pieces({"model": "m", **head}, messages) as pieces:
        return json.loads(b"".join(pieces))


@given(st.lists(st.tuples(st.lists(MESSAGES, max_size=3), st.lists(MESSAGES, min_size=1, max_size=3)), max_size=6))
def test_a_conversation_that_grows_is_sent_as_it_is(steps: list[tuple[list[Any], list[Any]]]) -> None:
    encoder, settled = Encoder(), list[Any]()
    for more, rest in steps:
        settled += more
        assert sent(encoder, Messages(settled, rest)) == {"model": "m", "messages": [*settled, *rest]}


def test_what_is_settled_is_not_encoded_again() -> None:
    encoder, settled = Encoder(), [said("one")]
    sent(encoder, Messages(settled, [said("two")]))
    settled[0]["content"] = "changed against all rules"
    settled.append(said("two"))
    assert sent(encoder, Messages(settled, [said("three")]))["messages"] == [said("one"), said("two"), said("three")]


def test_another_list_is_another_conversation() -> None:
    encoder, one, other = Encoder(), [said("one")], [said("other")]
    for _ in range(2):
        assert sent(encoder, Messages(one, [said("a")]))["messages"] == [said("one"), said("a")]
        assert sent(encoder, Messages(other, [said("b")]))["messages"] == [said("other"), said("b")]


def test_an_older_request_of_a_conversation_is_sent_as_it_was() -> None:
    encoder, settled = Encoder(), [said("one")]
    older = Messages(settled, [said("two")])
    settled.append(said("three"))
    assert sent(encoder, Messages(settled, [said("four")]))["messages"][-1] == said("four")
    assert sent(encoder, older)["messages"] == [said("one"), said("two")]


def test_two_may_send_the_same_conversation_at_the_same_time() -> None:
    encoder, settled = Encoder(), [said("one")]
    messages = Messages(settled, [said("two")])
    with encoder.pieces({"model": "m"}, messages) as pieces:
        settled.append(said("three"))
        assert sent(encoder, Messages(settled, [said("four")]))["messages"] == [
            said("one"),
            said("three"),
            said("four"),
        ]
        assert json.loads(b"".join(pieces))["messages"] == [said("one"), said("two")]


def test_a_request_that_went_wrong_spoils_nothing() -> None:
    encoder, settled = Encoder(), [said("one")]
    with pytest.raises(OSError, match="gone"), encoder.pieces({"model": "m"}, Messages(settled, [said("two")])):
        raise OSError("gone")
    settled.append(said("two"))
    assert sent(encoder, Messages(settled, [said("three")]))["messages"] == [said("one"), said("two"), said("three")]


def test_many_conversations_in_turn_are_sent_as_they_are() -> None:
    encoder, all_of_them = Encoder(), [[said(f"{number}")] for number in range(9)]
    for conversation in [*all_of_them, *all_of_them]:
        assert sent(encoder, Messages(conversation, [said("end")]))["messages"] == [*conversation, said("end")]


def test_messages_that_are_given_besides_win() -> None:
    given_besides = sent(Encoder(), Messages([said("one")], [said("two")]), messages=[said("other")])
    assert given_besides == {"model": "m", "messages": [said("other")]}
    request = Request("m", [said("one")], extra={"messages": [said("other")]})
    assert request.body()["messages"] == [said("other")]


def test_messages_of_no_conversation_are_sent_too() -> None:
    assert sent(Encoder(), [said("one")]) == {"model": "m", "messages": [said("one")]}


def test_half_of_a_surrogate_pair_is_replaced() -> None:
    assert sent(Encoder(), Messages([said("a\ud800")], [said("b\udc00")]))["messages"] == [said("a�"), said("b�")]
    assert json.loads(encoded({"a": "\ud800"})) == {"a": "�"}


def test_messages_are_a_sequence_of_all_of_them() -> None:
    settled = [said("one")]
    messages = Messages(settled, [said("two")])
    settled.append(said("later"))
    assert (len(messages), messages[0], messages[-1], messages[1:]) == (2, said("one"), said("two"), [said("two")])
    assert Request("m", messages).body() == {"messages": [said("one"), said("two")], "model": "m", "max_tokens": 4096}
