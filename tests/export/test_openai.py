"""Messages of the Messages API as chat messages in OpenAI's form."""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.build import Build, outcome, use
from turnlog.errors import Refused, UsageError
from turnlog.export.material import ExportChoice, ExportMaterial
from turnlog.export.messages import list_conversation_messages
from turnlog.export.openai import to_chat_messages
from turnlog.render.render_options import RenderOptions

PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}


def chat(role: str, *content: Any) -> list[dict[str, Any]]:
    return list(to_chat_messages({"role": role, "content": list(content)}))


def test_calls_become_tool_calls_with_their_arguments_as_text() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "x"}
    assert chat("assistant", thought, {"type": "text", "text": "so"}, use("c1", "Bash", {"command": "ls"})) == [
        {
            "role": "assistant",
            "content": "so",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "Bash", "arguments": '{"command":"ls"}'}}
            ],
        }
    ]


def test_an_answer_of_thinking_alone_is_left_out() -> None:
    assert chat("assistant", {"type": "thinking", "thinking": "hm"}) == []


def test_results_become_messages_of_the_tool_before_what_was_said() -> None:
    assert chat(
        "user", {"type": "text", "text": "go on"}, outcome("c1", [{"type": "text", "text": "a"}]), outcome("c2", "b")
    ) == [
        {"role": "tool", "tool_call_id": "c1", "content": "a"},
        {"role": "tool", "tool_call_id": "c2", "content": "b"},
        {"role": "user", "content": "go on"},
    ]


def test_images_become_addresses_that_hold_them() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    assert chat("user", PNG, {"type": "text", "text": "see"}) == [
        {"role": "user", "content": [image, {"type": "text", "text": "see"}]}
    ]
    assert chat("user", outcome("c1", [PNG])) == [
        {"role": "tool", "tool_call_id": "c1", "content": ""},
        {"role": "user", "content": [image]},
    ]


def test_documents_become_files_or_texts() -> None:
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}
    assert chat("user", {"type": "document", "source": pdf, "title": "a.pdf"})[0]["content"] == [
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}}
    ]
    assert chat("user", {"type": "document", "source": {"type": "text", "data": "words"}})[0]["content"] == "words"


def test_odd_blocks_have_no_place() -> None:
    assert chat("user", {"type": "brand_new"}, 5, outcome("c", None)) == [
        {"role": "tool", "tool_call_id": "c", "content": ""}
    ]


def list_messages(build: Build, **choice: Any) -> list[dict[str, Any]]:
    return list_conversation_messages(ExportMaterial(build.session(), ExportChoice(**choice)))


def talk() -> Build:
    build = Build()
    build.prompt([PNG, {"type": "text", "text": "go"}])
    build.answer({"type": "thinking", "thinking": "hm", "signature": "s"}, use("c1"), stop="tool_use")
    build.result("c1", [{"type": "text", "text": "done"}, PNG])
    build.answer("so")
    return build


def test_wishes_leave_blocks_out_of_a_conversation() -> None:
    kinds = [
        [block["type"] for block in message["content"]]
        for message in list_messages(talk(), wishes=RenderOptions(tools=False))
    ]
    assert kinds == [["image", "text"], ["thinking"], ["text"]]
    kinds = [
        [block["type"] for block in message["content"]]
        for message in list_messages(talk(), wishes=RenderOptions(thinking=False))
    ]
    assert kinds == [["image", "text"], ["tool_use"], ["tool_result"], ["text"]]
    assert "AAAA" not in str(list_messages(talk(), wishes=RenderOptions(pictures=False)))


def test_a_conversation_is_of_one_branch() -> None:
    with pytest.raises(UsageError, match="--branch"):
        list_messages(talk(), all_branches=True)


def test_what_the_client_would_not_resume_is_refused_with_the_reason() -> None:
    build = Build()
    build.note("summary", summary="x")
    with pytest.raises(Refused, match="would not resume"):
        list_messages(build)
