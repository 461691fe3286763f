"""The pieces of a conversation: what they are, whose they are, and how large."""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.build import Build, outcome, use
from turnlog.errors import Refused
from turnlog.session.window.pieces import (
    MIN_CUTTABLE_CHARS,
    PIECE_GROUPS,
    ContextPiece,
    build_context_pieces,
    estimate_json_bytes,
    list_pieces_of_rows,
    read_piece_text,
)

PICTURE = {"type": "image", "source": {"type": "base64", "data": ""}}


def list_pieces(build: Build, leaf: str | None = None) -> list[ContextPiece]:
    return build_context_pieces(build.session(), leaf).all


def list_piece_kinds(build: Build) -> list[tuple[str, str]]:
    return [(piece.group, piece.kind) for piece in list_pieces(build)]


def test_every_kind_of_block_has_its_group() -> None:
    build = Build()
    build.prompt([{"type": "text", "text": "look"}, PICTURE])
    build.answer({"type": "thinking", "thinking": "hm", "signature": "s"}, "Looking.", id="m1")
    build.call("c1", "Read", {"file_path": "/a"}, id="m1")
    build.result("c1", [{"type": "text", "text": "x"}, PICTURE, {"type": "tool_reference", "tool_name": "X"}])
    build.answer("Done.", {"type": "odd"})
    assert list_piece_kinds(build) == [
        ("prompts", ""), ("images", "prompt"), ("thinking", ""), ("answers", ""), ("calls", "Read"),
        ("results", "Read"), ("images", "Read"), ("answers", ""), ("answers", "odd"),
    ]  # fmt: skip
    assert {group for group, _ in list_piece_kinds(build)} <= set(PIECE_GROUPS)


def test_a_result_without_its_call_has_no_kind() -> None:
    build = Build()
    build.prompt("hello")
    build.result("c1")
    session = build.session()
    assert [(p.group, p.kind) for p in list_pieces_of_rows(session, session.entries)][1:] == [("results", "")]


def test_what_nobody_typed_is_an_attachment_by_its_kind() -> None:
    build = Build()
    build.prompt("hello")
    build.prompt("a caveat", isMeta=True)
    build.prompt("<task-notification>x</task-notification>", origin={"kind": "task-notification"})
    build.system("local_command", content="<local-command-stdout>ok</local-command-stdout>")
    build.row("user", message={"role": "user", "content": [{"type": "odd"}]})
    build.answer("ok")
    assert list_piece_kinds(build) == [
        ("prompts", ""), ("attachments", "meta"), ("attachments", "notification"), ("attachments", "local_command"),
        ("attachments", "odd"), ("answers", ""),
    ]  # fmt: skip


def test_a_text_beside_a_result_is_none_of_a_persons() -> None:
    build = Build()
    build.prompt("hello")
    build.call("c1")
    build.prompt([outcome("c1"), {"type": "text", "text": "a reminder"}])
    build.answer("ok")
    assert ("attachments", "beside a result") in list_piece_kinds(build)


def test_attachments_count_as_they_were_rendered() -> None:
    build = Build()
    build.prompt("hello")
    build.attachment("file")
    build.lines[-1]["rendered"] = [{"content": "the file"}]
    build.attachment("skill_listing")
    build.answer("ok")
    assert [(p.group, p.kind, p.size) for p in list_pieces(build)][1:-1] == [("attachments", "file", len("the file"))]


def test_what_was_typed_in_between_is_a_prompt_and_what_a_task_said_is_none() -> None:
    build = Build()
    build.prompt("hello")
    build.attachment("queued_command", prompt="more", origin={"kind": "human"})
    build.attachment("queued_command", prompt="over", origin={"kind": "task-notification"})
    build.answer("ok")
    assert list_piece_kinds(build)[1:3] == [("prompts", ""), ("attachments", "notification")]


def test_after_a_compaction_only_the_summary_and_what_followed_are_there() -> None:
    build = Build()
    build.prompt("old")
    build.answer("old answer")
    build.boundary()
    build.summary("what was")
    build.prompt("new")
    build.answer("new answer")
    assert list_piece_kinds(build) == [("summary", ""), ("prompts", ""), ("answers", "")]
    assert [p.turn for p in list_pieces(build)] == [1, 2, 2]


def test_what_the_client_would_not_send_is_no_piece() -> None:
    build = Build()
    build.prompt("hello")
    build.answer("Trying.", use("lost"), id="m1", stop="tool_use")
    build.answer("other words", id="m2")
    build.call("c1", id="m3")
    build.result("c1")
    build.result("c1", "again")
    build.answer("done", id="m4")
    texts = [read_piece_text(build.session(), piece) for piece in list_pieces(build)]
    assert "Trying." not in texts
    assert "again" not in texts
    assert texts.count("done") == 2


def test_signed_thinking_of_another_model_is_not_sent() -> None:
    build = Build()
    build.prompt("hello")
    build.answer({"type": "thinking", "thinking": "foreign", "signature": "s"}, "one", model="claude-opus-4")
    build.prompt("more")
    build.answer({"type": "thinking", "thinking": "own", "signature": "s"}, "two")
    session = build.session()
    assert [
        read_piece_text(session, piece) for piece in build_context_pieces(session).all if piece.group == "thinking"
    ] == ["own"]


def test_thinking_without_its_text_is_as_long_as_its_signature_tells() -> None:
    build = Build()
    build.prompt("hello")
    build.answer({"type": "thinking", "thinking": "", "signature": "s" * 2080}, "a", id="m1")
    build.answer({"type": "redacted_thinking", "data": "d" * 100}, {"type": "thinking", "thinking": 7}, "b", id="m2")
    assert [piece.size for piece in list_pieces(build) if piece.group == "thinking"] == [1386, 0, 0]
    assert [piece.stored for piece in list_pieces(build) if piece.group == "thinking"] == [2080, 100, 0]


def test_a_size_is_bytes_of_utf_8() -> None:
    build = Build()
    build.prompt("日本")
    build.answer("ok")
    assert [piece.size for piece in list_pieces(build)] == [6, 2]


def test_a_result_knows_its_call_and_the_copy_that_the_file_keeps() -> None:
    build = Build()
    build.prompt("hello")
    build.call("c1", "Read", {"file_path": "/a", "limit": 5})
    build.result("c1", "x" * 50, error=True, toolUseResult={"file": "y" * 100})
    build.answer("ok")
    call, result = list_pieces(build)[1:3]
    assert (result.kind, result.path, result.partial, result.failed) == ("Read", "/a", True, True)
    assert call.failed
    assert (result.size, result.texts) == (50, ((50, 50),))
    assert result.stored > 150


def test_only_long_strings_of_an_input_can_be_cut() -> None:
    build = Build()
    build.prompt("hello")
    build.call(
        "c1", "Write", {"file_path": "/a", "content": ["x" * (MIN_CUTTABLE_CHARS + 1), {"deep": "y" * 400}, 7, "short"]}
    )
    build.result("c1")
    build.answer("ok")
    assert sorted(list_pieces(build)[1].texts) == [(MIN_CUTTABLE_CHARS + 1, MIN_CUTTABLE_CHARS + 1), (400, 400)]


@pytest.mark.parametrize("given", [None, 7, "text", [], {"a": {"b": [None, True, 1.5, "x"]}}])
def test_any_input_has_a_size(given: Any) -> None:
    build = Build()
    build.prompt("hello")
    build.lines.append({**build.lines[-1], "type": "assistant", "uuid": "a", "parentUuid": build.last})
    build.lines[-1]["message"] = {"id": "m", "content": [{"type": "tool_use", "id": "c", "name": "X", "input": given}]}
    assert list_pieces(build)[1].size == estimate_json_bytes(given) + 1


def test_a_deep_input_is_no_trouble() -> None:
    deep: Any = "x"
    for _ in range(5_000):
        deep = [deep]
    assert estimate_json_bytes(deep) == 5_000 * 3 + 3
    build = Build()
    build.prompt("hello")
    build.call("c1", "Bash", {"a": 1})
    build.result("c1")
    build.answer("ok")
    data = build.data().replace(b'{"a":1}', b'{"a":' + b"[" * 800 + b"]" * 800 + b"}")
    from turnlog.session.session import Session

    assert build_context_pieces(Session.from_bytes(data)).all[1].twin


def test_of_a_sub_agents_file_all_that_leads_to_its_end_counts() -> None:
    build = Build()
    build.prompt("the task", isSidechain=True)
    build.answer("done", isSidechain=True)
    assert list_piece_kinds(build) == [("prompts", ""), ("answers", "")]
    with pytest.raises(Refused):
        build_context_pieces(Build().session())
    only_notes = Build()
    only_notes.note("mode", mode="x")
    with pytest.raises(Refused):
        build_context_pieces(only_notes.session())


def test_words_of_calls_and_images_are_none() -> None:
    build = Build()
    build.prompt([PICTURE, {"type": "text", "text": "look"}])
    build.answer({"type": "thinking", "thinking": "hm"}, use("c1"), id="m1")
    build.result("c1", [{"type": "text", "text": "seen"}])
    build.answer("ok")
    session = build.session()
    assert [read_piece_text(session, piece) for piece in build_context_pieces(session).all] == [
        "",
        "look",
        "hm",
        "",
        "seen",
        "ok",
    ]


def test_a_result_whose_call_is_not_among_the_rows_is_a_piece_of_no_tool() -> None:
    build = Build()
    build.prompt("hello")
    build.call("c1", "Read", {"file_path": "/a"})
    build.result("c1", "text of the file")
    session = build.session()
    (piece,) = list_pieces_of_rows(session, [session.entries[-1]])
    assert (piece.group, piece.kind, piece.path, piece.call) == ("results", "", "", "c1")
