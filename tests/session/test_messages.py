"""Assistant messages: lines of one id joined, and usage once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.build import Build, encode_lines, find_recording, genuine, open_variant, use
from turnlog.session.session import Session
from turnlog.session.usage.message_counts import MAX_MESSAGE_TOKENS, parse_version
from turnlog.session.usage.prices import PricedTokens


def usage(output: int = 1, **more: Any) -> dict[str, Any]:
    return {"input_tokens": 3, "output_tokens": output, **more}


def kinds(session: Session, number: int = 0) -> list[str]:
    return [block["type"] for block in session.read_content(session.messages[number])]


def test_the_lines_of_one_id_are_one_message_though_results_stand_between() -> None:
    build = Build()
    build.prompt()
    build.answer("I look.", id="m", stop=None)
    build.call("c1", id="m")
    build.result("c1")
    build.call("c2", id="m")
    build.result("c2")
    build.answer("done")
    session = build.session()
    assert [len(message.lines) for message in session.messages] == [3, 1]
    assert kinds(session) == ["text", "tool_use", "tool_use"]


def test_a_line_that_is_written_again_is_not_doubled() -> None:
    build = Build()
    build.prompt()
    build.answer("once", id="m")
    build.answer("once", id="m")
    build.call("c1", id="m")
    build.call("c1", id="m", given={"command": "ls -l"})
    assert kinds(build.session()) == ["text", "tool_use"]


def test_lines_that_hold_all_blocks_so_far_are_not_doubled() -> None:
    build = Build()
    build.answer("one", id="m")
    build.answer("one", use("c1"), id="m")
    build.answer("one", use("c1"), use("c2"), id="m")
    session = build.session()
    assert kinds(session) == ["text", "tool_use", "tool_use"]
    assert len(session.calls) == 2


def test_equal_texts_at_different_places_of_an_answer_both_stay() -> None:
    build = Build()
    build.answer("again", id="m", apiBlockIndex=0)
    build.answer("again", id="m", apiBlockIndex=2)
    build.answer("again", id="m", apiBlockIndex=2)
    assert kinds(build.session()) == ["text", "text"]


def test_equal_texts_in_one_line_both_stay() -> None:
    build = Build()
    build.answer("again", "again", id="m")
    assert kinds(build.session()) == ["text", "text"]


def test_a_line_may_hold_all_blocks_of_a_message() -> None:
    split, merged = open_variant("genuine-untouched"), open_variant("assistant-blocks-merged-into-one-row-per-message")
    assert [split.read_content(message) for message in split.messages] == [
        merged.read_content(message) for message in merged.messages
    ]


def test_a_content_that_is_a_string_is_one_text() -> None:
    session = open_variant("assistant-content-is-a-string")
    assert any(kinds(session, number) == ["text"] for number in range(len(session.messages)))


@pytest.mark.parametrize("content", [None, 5, {}, ["x", None, 3]])
def test_a_content_of_another_type_has_no_blocks(content: object) -> None:
    build = Build()
    build.row("assistant", message={"id": "m", "content": content})
    assert kinds(build.session()) == []


def test_lines_without_an_id_are_messages_of_their_own() -> None:
    build = Build()
    build.answer("one", uuid="x", id=None)
    build.answer("two", uuid="y", id="")
    build.note("assistant", message={"content": []})
    messages = build.session().messages
    assert [message.key for message in messages[:2]] == ["x", "y"]
    assert messages[2].key.startswith("@")


def test_an_assistant_entry_without_a_message_is_no_message() -> None:
    build = Build()
    build.row("assistant")
    build.row("assistant", message="lost")
    assert build.session().messages == []


def test_what_the_client_wrote_itself_is_marked() -> None:
    build = Build()
    build.answer("No response requested.", model="<synthetic>")
    build.answer("API Error: 500", model="<synthetic>", isApiErrorMessage=True)
    build.answer("fine", requestId="r1")
    messages = build.session().messages
    assert [message.is_synthetic for message in messages] == [True, True, False]
    assert [message.is_error for message in messages] == [False, True, False]
    assert messages[2].request_id == "r1"


def test_a_message_lasts_from_its_first_line_to_its_last() -> None:
    build = Build()
    build.answer("one", id="m")
    build.answer("two", id="m")
    (message,) = build.session().messages
    assert (message.started_at, message.ended_at) == ("2026-01-01T10:01:00.000Z", "2026-01-01T10:02:00.000Z")


def test_the_stop_reason_may_stand_on_any_line() -> None:
    build = Build()
    build.answer("one", id="m", stop="tool_use")
    build.answer("two", id="m", stop=None)
    assert build.session().messages[0].stop_reason == "tool_use"


# -- usage


def test_usage_is_counted_once_though_every_line_repeats_it() -> None:
    build = Build()
    for text in "abc":
        build.answer(text, id="m", usage=usage(7))
    (message,) = build.session().messages
    assert message.tokens is not None
    assert (message.tokens.input, message.tokens.output) == (3, 7)


def test_each_field_is_the_largest_that_any_line_states() -> None:
    build = Build()
    build.answer("a", id="m", usage={"input_tokens": 9, "output_tokens": 1, "cache_read_input_tokens": 4})
    build.answer("b", id="m", usage={"input_tokens": 2, "output_tokens": 8})
    build.answer("c", id="m")
    (message,) = build.session().messages
    assert message.tokens is not None
    assert (message.tokens.input, message.tokens.output, message.tokens.cache_read) == (9, 8, 4)


def test_numbers_that_no_request_can_have_are_no_counts() -> None:
    build = Build()
    split = {"ephemeral_5m_input_tokens": 10**20, "ephemeral_1h_input_tokens": 20}
    huge = {
        "input_tokens": MAX_MESSAGE_TOKENS + 1,
        "output_tokens": 10**30,
        "cache_read_input_tokens": 10**30,
        "cache_creation": split,
    }
    build.answer("a", usage={**huge, "server_tool_use": {"web_search_requests": 10**9}})
    (message,) = build.session().messages
    assert message.tokens == PricedTokens(cache_write_1h=20, web_searches=10_000)


def test_cache_writes_are_told_apart_by_lifetime() -> None:
    build = Build()
    split = {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20}
    build.answer("a", usage=usage(cache_creation_input_tokens=30, cache_creation=split))
    build.answer("b", usage=usage(cache_creation_input_tokens=30))
    build.answer("c", usage=usage(server_tool_use={"web_search_requests": 2}))
    tokens = [message.tokens for message in build.session().messages]
    assert [(found.cache_write_5m, found.cache_write_1h) for found in tokens if found] == [(10, 20), (30, 0), (0, 0)]
    assert [found.web_searches for found in tokens if found] == [0, 0, 2]


def test_cache_writes_are_not_doubled_when_only_one_line_tells_their_lifetime() -> None:
    build = Build()
    build.answer("a", id="m", usage=usage(cache_creation_input_tokens=30))
    lifetime = {"ephemeral_1h_input_tokens": 30}
    build.answer("b", id="m", usage=usage(cache_creation_input_tokens=30, cache_creation=lifetime))
    (message,) = build.session().messages
    assert message.tokens is not None
    assert message.tokens.cache_write_5m + message.tokens.cache_write_1h == 30


def test_the_terms_of_a_request_are_kept() -> None:
    build = Build()
    build.answer("a", usage=usage(speed="fast", service_tier="batch", inference_geo="us"))
    assert build.session().messages[0].terms == ("fast", "batch", "us")


QUALITY = [
    ("2.1.325", "end_turn", (5, 5), "final"),
    ("2.1.325", None, (5, 5), "partial"),  # broken off
    ("2.1.45", None, (1, 1), "placeholder"),
    ("2.1.45", None, (1, 40), "partial"),
    ("2.1.29", None, (1, 1), "placeholder"),
    ("2.1.8", None, (1, 1), "placeholder"),
    ("2.1.62", None, (1, 1), "placeholder"),
    ("2.1.63", None, (1, 1), "partial"),
    ("2.1.7", None, (1, 40), "final"),
    ("2.1.7", None, (1, 1), "partial"),
    ("1.0.128", None, (1, 300), "final"),
    ("1.0.128", "end_turn", (1, 300), "final"),
    ("[REDACTED]", None, (1, 1), "partial"),
]


@pytest.mark.parametrize(("version", "stop", "outputs", "expected"), QUALITY)
def test_how_far_the_output_can_be_believed_depends_on_the_era(
    version: str, stop: str | None, outputs: tuple[int, int], expected: str
) -> None:
    build = Build(version)
    build.answer("a", id="m", stop=None, usage=usage(outputs[0]))
    build.answer("b", id="m", stop=stop, usage=usage(outputs[1]))
    assert build.session().messages[0].quality == expected


def test_a_sub_agents_line_without_a_stop_reason_holds_a_placeholder() -> None:
    build = Build("2.1.104")
    build.prompt(isSidechain=True)
    build.answer("a", stop=None, usage=usage(), isSidechain=True)
    assert build.session().messages[0].quality == "placeholder"


def test_a_message_without_usage_has_no_tokens() -> None:
    build = Build()
    build.answer("a")
    (message,) = build.session().messages
    assert (message.tokens, message.quality) == (None, "missing")


@pytest.mark.parametrize(
    ("run", "qualities"),
    [
        ("1.0.128/tools", {"final"}),
        ("2.0.76/tools", {"final"}),
        ("2.1.29/tools", {"placeholder"}),
        ("2.1.45/tools", {"placeholder"}),
        ("2.1.45/tui_edge", {"placeholder", "partial"}),
        ("2.1.325/tools", {"final"}),
    ],
)
def test_recorded_versions_have_the_quality_of_their_era(run: str, qualities: set[str]) -> None:
    assert {message.quality for message in genuine(run).messages} == qualities


def test_all_versions_joined_the_same_scripted_session_to_the_same_answers() -> None:
    """The same script was played to five versions; the answers are the same, however they were written down."""
    runs = [genuine(f"{version}/tools") for version in ("1.0.128", "2.0.76", "2.1.29", "2.1.45", "2.1.325")]
    found = [[[block["type"] for block in run.read_content(message)] for message in run.messages] for run in runs]
    assert found == [found[0]] * 5
    assert find_recording("2.1.325/tools").stat().st_size > 0


def test_versions_are_compared_by_number() -> None:
    assert parse_version("2.1.8") < parse_version("2.1.29") < parse_version("2.1.325") < parse_version(None)
    assert parse_version("") == parse_version("2.1.x") == (999,)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.integers(0, 9)), min_size=1))
def test_in_any_order_of_lines_each_field_is_the_maximum(lines: list[tuple[str, int, int]]) -> None:
    rows = [
        {"type": "assistant", "message": {"id": key, "usage": {"input_tokens": given, "output_tokens": output}}}
        for key, given, output in lines
    ]
    for message in Session.from_bytes(encode_lines(rows)).messages:
        own = [line for line in lines if line[0] == message.key]
        assert message.tokens is not None
        assert message.tokens.input == max(line[1] for line in own)
        assert message.tokens.output == max(line[2] for line in own)


def test_of_two_messages_under_one_id_the_model_that_answered_counts() -> None:
    build = Build()
    build.prompt()
    build.answer("No response requested.", id="msg_1", model="<synthetic>")
    build.answer("hi", id="msg_1", model="claude-opus-5")
    (message,) = build.session().messages
    assert (message.model, message.is_synthetic) == ("claude-opus-5", False)
