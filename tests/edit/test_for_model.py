"""For another model: what it would refuse goes, and the rest says what it said."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.interop.digest import difference, digests
from tests.session.build import DATA, Build, describe_resumed, outcome, use
from turnlog.edit.draft import Draft
from turnlog.edit.fork.model_adapter import adapt_to_model
from turnlog.errors import Refused, UsageError
from turnlog.session.session import Session

SESSIONS = sorted(DATA.glob("sessions/*/*/projects/*/????????-*.jsonl"))
SIGNED = {"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"}
SEARCH = {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "weather"}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srv1",
    "content": [
        {"type": "web_search_result", "title": "Rain", "url": "https://example.org", "encrypted_content": "Zz"}
    ],
}


def fit_for_model(build: Build, model: str) -> tuple[list[str], Mapping[str, int]]:
    draft, counts = adapt_to_model(Draft.from_transcript(build.session().file), model)
    return describe_resumed(Session(draft.to_transcript())), counts


def blocks(build: Build, model: str = "other-provider") -> list[dict[str, Any]]:
    """The blocks of all messages afterwards."""
    file = adapt_to_model(Draft.from_transcript(build.session().file), model).draft.to_transcript()
    contents = [file.read_body(entry)["message"]["content"] for entry in file.entries]
    return [block for content in contents if isinstance(content, list) for block in content]


@pytest.mark.parametrize("model", ["claude-opus-5-20260101", "anthropic/claude-opus-5", "claude-opus-5[1m]"])
def test_thinking_that_the_model_signed_itself_stays_however_it_is_called(model: str) -> None:
    build = Build()
    build.prompt("one")
    build.answer(SIGNED, "ONE", model="claude-opus-5")
    assert fit_for_model(build, model) == (["U one", "A thinking + ONE"], {})


@pytest.mark.parametrize("model", ["claude-haiku-5", "other-provider"])
def test_thinking_of_another_model_goes_redacted_or_not(model: str) -> None:
    build = Build()
    build.prompt("one")
    build.answer(SIGNED, {"type": "redacted_thinking", "data": "Zz"}, "ONE", model="claude-opus-5")
    assert fit_for_model(build, model) == (["U one", "A ONE"], {"thinking of another model": 2})


def test_thinking_without_a_signature_goes_even_if_it_is_the_models_own() -> None:
    build = Build()
    build.prompt("one")
    build.answer({"type": "thinking", "thinking": "hm"}, "ONE", model="claude-opus-5")
    assert fit_for_model(build, "claude-opus-5") == (["U one", "A ONE"], {"thinking without a valid signature": 1})


def test_entries_that_are_left_empty_go_and_what_hung_on_them_hangs_on_their_parent() -> None:
    build = Build()
    prompt = build.prompt("one")
    build.answer(SIGNED, id="m")
    build.answer("ONE", uuid="text", id="m")
    draft, counts = adapt_to_model(Draft.from_transcript(build.session().file), "other-provider")
    file = draft.to_transcript()
    assert [(entry.uuid, entry.parent_uuid) for entry in file.entries] == [(prompt, None), ("text", prompt)]
    assert counts["entries left empty"] == 1


def test_what_the_apis_own_tools_said_becomes_text() -> None:
    build = Build()
    build.prompt("one")
    build.answer(SEARCH, FOUND, "ONE")
    assert [block["text"] for block in blocks(build)] == [
        "[web_search]\nweather",
        "[web_search_tool_result]\nRain\nhttps://example.org",
        "ONE",
    ]


def test_a_tool_of_the_api_with_nothing_to_read_goes_with_its_call() -> None:
    build = Build()
    build.prompt("one")
    call = {"type": "server_tool_use", "id": "s", "name": "advisor", "input": {"query": "secret"}}
    answer = {"type": "advisor_tool_result", "tool_use_id": "s", "content": {"encrypted_content": "Zz"}}
    build.answer(call, answer, {"type": "fallback", "from": {"model": "a"}}, "ONE")
    assert fit_for_model(build, "claude-opus-5") == (["U one", "A ONE"], {"API blocks": 3})


def test_references_to_tools_inside_results_become_text() -> None:
    build = Build()
    build.prompt("one")
    build.call("c1")
    build.result("c1", [{"type": "tool_reference", "tool_name": "WebFetch"}])
    assert blocks(build)[-1]["content"] == [{"type": "text", "text": "[tool_reference]\nWebFetch"}]


def test_fields_that_belong_to_one_request_go() -> None:
    build = Build()
    build.prompt([{"type": "text", "text": "one", "cache_control": {"type": "ephemeral"}}])
    build.answer({"type": "text", "text": "ONE", "citations": []}, {**use("c1"), "caller": {"type": "direct"}})
    build.lines[-1]["message"]["container"] = {"id": "x"}
    build.result("c1")
    kept = [set(block) for block in blocks(build)]
    assert kept[:3] == [{"type", "text"}, {"type", "text"}, {"type", "id", "name", "input"}]
    assert "caller" in blocks(build, "claude-opus-5")[2]
    assert fit_for_model(build, "other-provider")[1] == {"fields that belong to one request": 4}


def test_ids_that_do_not_fit_are_renamed_for_call_and_result_alike_and_stay_apart() -> None:
    build = Build()
    build.prompt("one")
    build.answer(use("a.b"), use("a:b"), use("a_b"), use("x" * 90))
    build.prompt([outcome("a.b"), outcome("a:b"), outcome("a_b"), outcome("x" * 90)], sourceToolUseID="a.b")
    draft, counts = adapt_to_model(Draft.from_transcript(build.session().file), "other-provider")
    found = [block.get("id") or block["tool_use_id"] for block in blocks(build)]
    assert found[:4] == ["a_b_2", "a_b_3", "a_b", "x" * 64]
    assert found[4:] == found[:4]
    assert counts["call ids"] == 3
    assert draft.get_value(draft.rows[-1], "sourceToolUseID") == "a_b_2"


@pytest.mark.parametrize(("model", "longest"), [("other-provider", 64), ("claude-opus-5", 128)])
def test_names_of_tools_are_made_to_fit(model: str, longest: int) -> None:
    build = Build()
    build.prompt("one")
    build.answer(use("c1", "x" * 300), use("c2", "mcp server.do"))
    build.prompt([outcome("c1"), outcome("c2")])
    assert [block["name"] for block in blocks(build, model)[:2]] == ["x" * longest, "mcp_server_do"]


def test_odd_blocks_ids_and_empty_texts_do_no_harm() -> None:
    build = Build()
    build.prompt("one")
    build.answer("", "ONE", use(7, None), {"x": 1}, id="m")
    build.lines[-1]["message"]["content"].append("plain")
    build.prompt([outcome({"a": 1}, None), {"type": "tool_result"}])
    build.prompt(None)
    build.lines.append({"type": "user", "message": "no object"})
    draft, counts = adapt_to_model(Draft.from_transcript(build.session().file), "other-provider")
    assert counts == {"empty texts": 1, "API blocks": 1}
    assert len(draft.to_transcript().entries) == 5


def test_images_and_documents_stay() -> None:
    build = Build()
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    build.prompt([picture, {"type": "document", "source": {"type": "url", "url": "https://example.org"}}])
    assert blocks(build)[0] == picture
    assert len(blocks(build)) == 2


@pytest.mark.parametrize("model", ["", "  ", "two words"])
def test_a_model_has_a_name(model: str) -> None:
    with pytest.raises(UsageError, match="expected the name of a model or other-provider"):
        adapt_to_model(Draft.from_transcript(Build().session().file), model)


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.relative_to(DATA).as_posix())
def test_a_recorded_session_says_the_same_apart_from_thinking(path: Path) -> None:
    with Session.open(path) as session:
        try:
            expected = session.conversation().messages
        except Refused:
            return
        found = (
            Session(adapt_to_model(Draft.from_transcript(session.file), "other-provider").draft.to_transcript())
            .conversation()
            .messages
        )
    assert not any(block["type"] in ("thinking", "redacted_thinking") for said in found for block in said["content"])
    assert difference(_without_references(expected), _without_references(found)) is None


def _without_references(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Digests without the text that references to tools become."""
    for message in messages:
        for block in message["content"]:
            if block["type"] == "tool_result" and isinstance(block["content"], list):
                inner = [one for one in block["content"] if not str(one.get("text")).startswith("[tool_reference]")]
                block["content"] = inner
    return digests(messages)
