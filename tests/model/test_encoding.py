"""What is sent, byte by byte: a conversation that goes on is encoded once, and means the same all the time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.model.anthropic import RequestEncoder, encode_request_json
from turnlog.model.request import ConversationMessages, ModelRequest

TEXTS = st.text(max_size=8)
MESSAGES = st.builds(lambda text: {"role": "user", "content": [{"type": "text", "text": text}]}, TEXTS)


def said(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def sent(encoder: RequestEncoder, messages: Any, /, **head: Any) -> Any:
    """What a server reads."""
    with encoder.encode_pieces({"model": "m", **head}, messages) as pieces:
        return json.loads(b"".join(pieces))


@given(st.lists(st.tuples(st.lists(MESSAGES, max_size=3), st.lists(MESSAGES, min_size=1, max_size=3)), max_size=6))
def test_a_conversation_that_grows_is_sent_as_it_is(steps: list[tuple[list[Any], list[Any]]]) -> None:
    encoder, settled = RequestEncoder(), list[Any]()
    for more, rest in steps:
        settled += more
        assert sent(encoder, ConversationMessages(settled, rest)) == {"model": "m", "messages": [*settled, *rest]}


def test_what_is_settled_is_not_encoded_again() -> None:
    encoder, settled = RequestEncoder(), [said("one")]
    sent(encoder, ConversationMessages(settled, [said("two")]))
    settled[0]["content"] = "changed against all rules"
    settled.append(said("two"))
    assert sent(encoder, ConversationMessages(settled, [said("three")]))["messages"] == [
        said("one"),
        said("two"),
        said("three"),
    ]


def test_another_list_is_another_conversation() -> None:
    encoder, one, other = RequestEncoder(), [said("one")], [said("other")]
    for _ in range(2):
        assert sent(encoder, ConversationMessages(one, [said("a")]))["messages"] == [said("one"), said("a")]
        assert sent(encoder, ConversationMessages(other, [said("b")]))["messages"] == [said("other"), said("b")]


def test_an_older_request_of_a_conversation_is_sent_as_it_was() -> None:
    encoder, settled = RequestEncoder(), [said("one")]
    older = ConversationMessages(settled, [said("two")])
    settled.append(said("three"))
    assert sent(encoder, ConversationMessages(settled, [said("four")]))["messages"][-1] == said("four")
    assert sent(encoder, older)["messages"] == [said("one"), said("two")]


def test_two_may_send_the_same_conversation_at_the_same_time() -> None:
    encoder, settled = RequestEncoder(), [said("one")]
    messages = ConversationMessages(settled, [said("two")])
    with encoder.encode_pieces({"model": "m"}, messages) as pieces:
        settled.append(said("three"))
        assert sent(encoder, ConversationMessages(settled, [said("four")]))["messages"] == [
            said("one"),
            said("three"),
            said("four"),
        ]
        assert json.loads(b"".join(pieces))["messages"] == [said("one"), said("two")]


def test_a_request_that_went_wrong_spoils_nothing() -> None:
    encoder, settled = RequestEncoder(), [said("one")]
    with (
        pytest.raises(OSError, match="gone"),
        encoder.encode_pieces({"model": "m"}, ConversationMessages(settled, [said("two")])),
    ):
        raise OSError("gone")
    settled.append(said("two"))
    assert sent(encoder, ConversationMessages(settled, [said("three")]))["messages"] == [
        said("one"),
        said("two"),
        said("three"),
    ]


def test_many_conversations_in_turn_are_sent_as_they_are() -> None:
    encoder, all_of_them = RequestEncoder(), [[said(f"{number}")] for number in range(9)]
    for conversation in [*all_of_them, *all_of_them]:
        assert sent(encoder, ConversationMessages(conversation, [said("end")]))["messages"] == [
            *conversation,
            said("end"),
        ]


def test_messages_that_are_given_besides_win() -> None:
    given_besides = sent(RequestEncoder(), ConversationMessages([said("one")], [said("two")]), messages=[said("other")])
    assert given_besides == {"model": "m", "messages": [said("other")]}
    request = ModelRequest("m", [said("one")], extra={"messages": [said("other")]})
    assert request.build_body()["messages"] == [said("other")]


def test_messages_of_no_conversation_are_sent_too() -> None:
    assert sent(RequestEncoder(), [said("one")]) == {"model": "m", "messages": [said("one")]}


def test_half_of_a_surrogate_pair_is_replaced() -> None:
    assert sent(RequestEncoder(), ConversationMessages([said("a\ud800")], [said("b\udc00")]))["messages"] == [
        said("a�"),
        said("b�"),
    ]
    assert json.loads(encode_request_json({"a": "\ud800"})) == {"a": "�"}


def test_messages_are_a_sequence_of_all_of_them() -> None:
    settled = [said("one")]
    messages = ConversationMessages(settled, [said("two")])
    settled.append(said("later"))
    assert (len(messages), messages[0], messages[-1], messages[1:]) == (2, said("one"), said("two"), [said("two")])
    assert ModelRequest("m", messages).build_body() == {
        "messages": [said("one"), said("two")],
        "model": "m",
        "max_tokens": 4096,
    }
