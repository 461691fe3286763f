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


def build_message(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def encode_request(encoder: RequestEncoder, messages: Any, /, **head: Any) -> Any:
    """What a server reads."""
    with encoder.encode_pieces({"model": "m", **head}, messages) as pieces:
        return json.loads(b"".join(pieces))


@given(st.lists(st.tuples(st.lists(MESSAGES, max_size=3), st.lists(MESSAGES, min_size=1, max_size=3)), max_size=6))
def test_a_conversation_that_grows_is_sent_as_it_is(steps: list[tuple[list[Any], list[Any]]]) -> None:
    encoder, settled = RequestEncoder(), list[Any]()
    for more, rest in steps:
        settled += more
        assert encode_request(encoder, ConversationMessages(settled, rest)) == {
            "model": "m",
            "messages": [*settled, *rest],
        }


def test_what_is_settled_is_not_encoded_again() -> None:
    encoder, settled = RequestEncoder(), [build_message("one")]
    encode_request(encoder, ConversationMessages(settled, [build_message("two")]))
    settled[0]["content"] = "changed against all rules"
    settled.append(build_message("two"))
    assert encode_request(encoder, ConversationMessages(settled, [build_message("three")]))["messages"] == [
        build_message("one"),
        build_message("two"),
        build_message("three"),
    ]


def test_another_list_is_another_conversation() -> None:
    encoder, one, other = RequestEncoder(), [build_message("one")], [build_message("other")]
    for _ in range(2):
        assert encode_request(encoder, ConversationMessages(one, [build_message("a")]))["messages"] == [
            build_message("one"),
            build_message("a"),
        ]
        assert encode_request(encoder, ConversationMessages(other, [build_message("b")]))["messages"] == [
            build_message("other"),
            build_message("b"),
        ]


def test_an_older_request_of_a_conversation_is_sent_as_it_was() -> None:
    encoder, settled = RequestEncoder(), [build_message("one")]
    older = ConversationMessages(settled, [build_message("two")])
    settled.append(build_message("three"))
    assert encode_request(encoder, ConversationMessages(settled, [build_message("four")]))["messages"][
        -1
    ] == build_message("four")
    assert encode_request(encoder, older)["messages"] == [build_message("one"), build_message("two")]


def test_two_may_send_the_same_conversation_at_the_same_time() -> None:
    encoder, settled = RequestEncoder(), [build_message("one")]
    messages = ConversationMessages(settled, [build_message("two")])
    with encoder.encode_pieces({"model": "m"}, messages) as pieces:
        settled.append(build_message("three"))
        assert encode_request(encoder, ConversationMessages(settled, [build_message("four")]))["messages"] == [
            build_message("one"),
            build_message("three"),
            build_message("four"),
        ]
        assert json.loads(b"".join(pieces))["messages"] == [build_message("one"), build_message("two")]


def test_a_request_that_went_wrong_spoils_nothing() -> None:
    encoder, settled = RequestEncoder(), [build_message("one")]
    with (
        pytest.raises(OSError, match="gone"),
        encoder.encode_pieces({"model": "m"}, ConversationMessages(settled, [build_message("two")])),
    ):
        raise OSError("gone")
    settled.append(build_message("two"))
    assert encode_request(encoder, ConversationMessages(settled, [build_message("three")]))["messages"] == [
        build_message("one"),
        build_message("two"),
        build_message("three"),
    ]


def test_many_conversations_in_turn_are_sent_as_they_are() -> None:
    encoder, all_of_them = RequestEncoder(), [[build_message(f"{number}")] for number in range(9)]
    for conversation in [*all_of_them, *all_of_them]:
        assert encode_request(encoder, ConversationMessages(conversation, [build_message("end")]))["messages"] == [
            *conversation,
            build_message("end"),
        ]


def test_messages_that_are_given_besides_win() -> None:
    given_besides = encode_request(
        RequestEncoder(),
        ConversationMessages([build_message("one")], [build_message("two")]),
        messages=[build_message("other")],
    )
    assert given_besides == {"model": "m", "messages": [build_message("other")]}
    request = ModelRequest("m", [build_message("one")], extra={"messages": [build_message("other")]})
    assert request.build_body()["messages"] == [build_message("other")]


def test_messages_of_no_conversation_are_sent_too() -> None:
    assert encode_request(RequestEncoder(), [build_message("one")]) == {
        "model": "m",
        "messages": [build_message("one")],
    }


def test_half_of_a_surrogate_pair_is_replaced() -> None:
    assert encode_request(
        RequestEncoder(), ConversationMessages([build_message("a\ud800")], [build_message("b\udc00")])
    )["messages"] == [
        build_message("a�"),
        build_message("b�"),
    ]
    assert json.loads(encode_request_json({"a": "\ud800"})) == {"a": "�"}


def test_messages_are_a_sequence_of_all_of_them() -> None:
    settled = [build_message("one")]
    messages = ConversationMessages(settled, [build_message("two")])
    settled.append(build_message("later"))
    assert (len(messages), messages[0], messages[-1], messages[1:]) == (
        2,
        build_message("one"),
        build_message("two"),
        [build_message("two")],
    )
    assert ModelRequest("m", messages).build_body() == {
        "messages": [build_message("one"), build_message("two")],
        "model": "m",
        "max_tokens": 4096,
    }
