"""What spans say: redacted, cut, and the same however a session is read."""

from __future__ import annotations

import base64
import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.build import Build, outcome, use
from tests.trace.stories import SECRET
from tests.trace.trees import spans
from turnlog.redact.redactor import Redactor
from turnlog.trace.spans.attributes import build_span
from turnlog.trace.spans.content import REDACTION_MARGIN_CHARS, ContentPolicy, SpanContents, TextCutter
from turnlog.trace.spans.parts import SpanPart, read_entry_parts, to_json_text
from turnlog.trace.spans.span import Span
from turnlog.trace.spans.span_trees import build_session_traces

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
WORD = "qT7zVb2KpX9mWc4LrN8sJd6Hf"
"""A secret only where something says so."""


def texts(item: Span) -> str:
    """All that a span says."""
    return json.dumps(item.attributes) + str(item.error)


def story(*answer: Any) -> Build:
    """A turn with a prompt, a call, its result and an answer."""
    build = Build()
    build.prompt("look at the file")
    build.call("c1", "Bash", {"command": "cat notes"}, id="m1")
    build.result("c1", "the notes")
    build.answer(*answer or ["that is it"], id="m2")
    return build


def said_by(build: Build, policy: ContentPolicy = ContentPolicy()) -> dict[str, Any]:
    """The attributes of all spans of a session together."""
    return {name: value for item in spans(build.session(), policy=policy) for name, value in item.attributes.items()}


# -- secrets


def test_a_secret_is_redacted_in_every_span_that_shows_it() -> None:
    build = Build()
    build.prompt(f"use {SECRET}")
    build.call("c1", "Bash", {"command": f"curl -H {SECRET}"})
    build.result("c1", f"who is {SECRET}?", error=True)
    build.answer({"type": "thinking", "thinking": f"hm, {SECRET}", "signature": "c2lnbmVk"}, f"it is {SECRET}")
    found = spans(build.session())
    assert not [item.name for item in found if SECRET in texts(item)]
    assert sum("[secret:github:1]" in texts(item) for item in found) == 4


def test_a_secret_that_was_learned_in_a_turn_is_found_again_bare() -> None:
    build = Build()
    build.prompt("password=Kx81mmQ2-zz91")
    build.answer("So it is Kx81mmQ2-zz91.")
    root = spans(build.session())[0]
    assert root.attributes["output.value"] == "So it is [secret:password:1]."


def test_marks_depend_on_what_came_before_in_the_turn_alone() -> None:
    build = Build()
    build.prompt(f"use {SECRET}")
    build.answer("yes")
    build.prompt(f"use {SECRET.swapcase().replace('GHP_', 'ghp_')}")
    build.answer("yes")
    roots = [item for item in spans(build.session()) if item.parent is None]
    assert [item.attributes["input.value"] for item in roots] == ["use [secret:github:1]"] * 2


def test_marks_do_not_depend_on_which_spans_are_made() -> None:
    build = Build()
    build.prompt(f"use {SECRET}")
    build.call("c1", "Bash", {"command": f"echo {SECRET.swapcase().replace('GHP_', 'ghp_')}"})
    build.result("c1")
    session = build.session()
    trace = build_session_traces(session)[0]
    tool = next(node for node in trace.nodes if node.kind == "tool")
    alone = build_span(tool, trace, SpanContents(session))
    assert alone.attributes["gen_ai.tool.call.arguments"] == '{"command":"echo [secret:github:2]"}'


def test_signatures_are_never_sent() -> None:
    build = story({"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"}, "done")
    assert not [item for item in spans(build.session(), policy=ContentPolicy("full")) if "c2lnbmVk" in texts(item)]


def test_everything_is_sent_as_it_is_if_that_is_asked_for() -> None:
    build = Build()
    build.prompt(f"use {SECRET}")
    build.answer("yes")
    assert SECRET in texts(spans(build.session(), policy=ContentPolicy("full"))[0])


def test_nothing_that_was_said_is_sent_if_that_is_asked_for() -> None:
    build = Build()
    build.prompt("WORD")
    build.answer({"type": "thinking", "thinking": "WORD"}, use("c1", "Bash", {"command": "WORD"}), stop="tool_use")
    build.result("c1", "WORD", error=True)
    build.answer("WORD API error", model="<synthetic>", isApiErrorMessage=True, error="WORD WORD")
    found = spans(build.session(), policy=ContentPolicy("none"))
    assert len(found) == 4
    assert not [item for item in found if "WORD" in texts(item) or "webshop" in texts(item)]
    assert [item.error for item in found] == ["api_error", None, "api_error", "error"]


# -- long values


def test_a_long_text_is_cut_and_tells_its_length_and_hash() -> None:
    text = "0123456789" * 10
    digest = sha256(text.encode()).hexdigest()
    assert TextCutter(16, None).cut_text(text) == f"0123456789012345 … [cut: 100 characters, sha256 {digest}]"
    assert TextCutter(100, None).cut_text(text) == text


def test_a_text_that_grows_by_marks_is_cut_as_well() -> None:
    cut = TextCutter(60, Redactor()).cut_text(f"{SECRET} " * 2)
    assert cut.startswith("[secret:github:1] [secret:github:1]")
    assert "cut" not in cut


@given(st.integers(0, 80), st.integers(30, 100))
def test_no_secret_survives_by_being_cut_in_two(before: int, limit: int) -> None:
    text = "x " * (before // 2) + SECRET + " y" * 20_000
    cut = TextCutter(limit, Redactor()).cut_text(text)
    assert SECRET[:8] not in cut


@given(st.integers(-60, 60))
def test_no_secret_survives_at_the_place_where_redacting_ends(shift: int) -> None:
    limit = 1000
    text = "x " * ((limit + REDACTION_MARGIN_CHARS + shift) // 2) + SECRET + " y" * 200
    assert SECRET[:8] not in TextCutter(limit, Redactor()).cut_text(text)


def test_a_long_value_becomes_a_text_that_is_cut() -> None:
    given = said_by(_with_input({"content": "y" * 50_000}))["gen_ai.tool.call.arguments"]
    assert given.startswith('{"content":"yyy')
    assert "[cut: 50014 characters, sha256 " in given
    assert len(given) < 20_200


@pytest.mark.parametrize(
    "value",
    [
        {"headers": [{"name": "x-api-key", "value": WORD}]},
        {"password": WORD},
        {"args": ["--password", WORD]},
        {"env": {"DB_PASSWORD": WORD}},
    ],
)
@pytest.mark.parametrize("size", [10, 100_000])
def test_what_is_a_secret_by_its_key_is_redacted_in_a_value_of_any_length(value: dict[str, Any], size: int) -> None:
    sent = to_json_text(TextCutter(20_000, Redactor()).cut_value({**value, "text": "x " * size}))
    assert "[secret:" in sent
    assert WORD not in sent


def test_no_secret_survives_where_the_room_for_a_long_value_ends() -> None:
    for before in range(20_000 + REDACTION_MARGIN_CHARS - 60, 20_000 + REDACTION_MARGIN_CHARS + 20):
        sent = TextCutter(20_000, Redactor()).cut_value({"text": "x " * (before // 2) + SECRET, "more": "y " * 20_000})
        assert SECRET[:10] not in sent


def test_a_value_that_is_only_a_little_too_long_is_redacted_before_it_is_cut() -> None:
    given = TextCutter(50, Redactor()).cut_value({"command": f"echo {SECRET} {'y' * 60}"})
    assert given.startswith('{"command":"echo [secret:github:1] yyy')


def _with_input(given: Any) -> Build:
    build = Build()
    build.prompt()
    build.call("c1", "Write", given)
    return build


# -- parts


def test_a_picture_is_a_word_with_its_type_and_size() -> None:
    data = base64.b64encode(b"\x89PNG 1234").decode()
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    build = Build()
    build.prompt([{"type": "text", "text": "see"}, picture])
    build.call("c1", "Read")
    build.result("c1", [picture, {"type": "text", "text": "there"}, 7])
    found = said_by(build, ContentPolicy("full"))
    assert found["input.value"] == "see\n[image: image/png, 9 bytes]"
    assert found["gen_ai.tool.call.result"] == "[image: image/png, 9 bytes]\nthere\n7"


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ({"type": "text", "text": "a"}, SpanPart("text", "a")),
        ({"type": "text", "text": ""}, None),
        ({"type": "text", "text": 7}, None),
        ({"type": "thinking", "thinking": "a", "signature": "s"}, SpanPart("reasoning", "a")),
        ({"type": "thinking", "thinking": ""}, None),
        ({"type": "redacted_thinking", "data": "s"}, SpanPart("reasoning", "[redacted thinking]")),
        ({"type": "tool_use", "id": 7, "name": None, "input": [1]}, SpanPart("tool_call", value=[1])),
        ({"type": "server_tool_use", "id": "s", "name": "n", "input": {}}, SpanPart("tool_call", "", "s", "n", {})),
        ({"type": "tool_result", "tool_use_id": "c", "content": None}, SpanPart("tool_call_response", "", "c")),
        (
            {"type": "tool_result", "tool_use_id": "c", "content": {"a": 1}},
            SpanPart("tool_call_response", '{"a":1}', "c"),
        ),
        (
            {"type": "document", "source": {"type": "text", "data": "abc"}},
            SpanPart("text", "[document: unknown type, 3 bytes]"),
        ),
        ({"type": "image", "source": {"type": "url", "url": "u"}}, SpanPart("text", "[image]")),
        ({"type": ["odd"]}, SpanPart("text", "[block]")),
    ],
)
def test_each_block_is_a_part(block: dict[str, Any], part: SpanPart | None) -> None:
    assert read_entry_parts({"message": {"content": [block]}}).parts == ([part] if part else [])


@pytest.mark.parametrize(
    "body", [{}, {"message": 7}, {"message": {"content": 7}}, {"message": {"content": [7]}}, {"attachment": 7}]
)
def test_a_body_that_says_nothing_has_no_parts(body: dict[str, Any]) -> None:
    assert read_entry_parts(body).parts == []


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"apiErrorType": "overloaded_error"}, "overloaded_error"),
        ({"error": "rate_limit", "apiErrorType": None}, "rate_limit"),
        ({"apiErrorStatus": 529}, "529"),
        ({"error": {"message": "Oh no"}}, "api_error"),
        ({"error": "a whole sentence"}, "api_error"),
    ],
)
def test_the_kind_of_an_api_error_is_a_name(fields: dict[str, Any], kind: str) -> None:
    assert read_entry_parts({"isApiErrorMessage": True, **fields}).error == kind


@given(JSON)
def test_any_value_can_be_written_as_json(value: Any) -> None:
    assert isinstance(to_json_text(value), str)


def test_values_that_no_encoder_takes_are_written_all_the_same() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert to_json_text(deep) == '"[nested too deep]"'
    assert to_json_text({"a": "\ud83c", "b": 1 << 70}) == '{"a":"\ud83c","b":1180591620717411303424}'


@given(JSON, JSON, JSON)
def test_whatever_stands_in_a_transcript_becomes_spans(prompt: Any, given: Any, result: Any) -> None:
    build = Build()
    build.prompt("begin")
    build.prompt(prompt, isMeta=True)
    build.answer(use("c1", "Bash", given), {"type": "thinking", "thinking": prompt}, stop="tool_use")
    build.prompt([outcome("c1", result), {"type": "text", "text": given}], toolUseResult=prompt)
    assert len(spans(build.session())) == 3
