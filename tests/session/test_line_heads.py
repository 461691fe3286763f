"""Heads of lines: the same entries as whole lines, without what tools returned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.build import DATA
from tests.session.test_any import entries
from turnlog.session.texts.line_heads import PlacedHead, read_line_heads
from turnlog.session.texts.lines import PlacedLine, is_whole_entry, read_text_lines
from turnlog.session.texts.texts import count_unsaid_letters, list_search_texts

SESSIONS = sorted([*DATA.glob("sessions/**/*.jsonl"), *DATA.glob("variants/*.jsonl")])


def compare_readings(data: bytes) -> list[PlacedHead]:
    """Check that both readings find the same entries, and return those of which only the head was read."""
    lines = data.splitlines(keepends=True)
    heads, whole = list(read_line_heads(lines, 7)), list(read_text_lines(lines, 7))
    assert len(heads) == len(whole)
    for head, line in zip(heads, whole, strict=True):
        if head is None or line is None:
            assert head is line
            continue
        assert (head.offset, head.raw, head.body) == (line.offset, line.raw, line.body)
        assert (head.line.type, head.line.uuid, head.line.timestamp) == (
            line.line.type,
            line.line.uuid,
            line.line.timestamp,
        )
        if isinstance(head, PlacedHead):
            assert line.line.type != "assistant"
    return [head for head in heads if isinstance(head, PlacedHead)]


@pytest.mark.parametrize("path", SESSIONS, ids=["/".join(path.parts[-4:]) for path in SESSIONS])
def test_heads_are_the_entries_of_a_genuine_session(path: Path) -> None:
    compare_readings(path.read_bytes())


@given(st.lists(entries, max_size=4))
def test_heads_are_the_entries_of_any_lines(lines: list[dict[str, Any]]) -> None:
    compare_readings("".join(json.dumps(line) + "\n" for line in lines).encode())


TIME = {"timestamp": "2026-01-01T00:00:00.000Z"}


def user(*blocks: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": list(blocks)}, **TIME, **more}


RESULT = {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "much"}]}


@pytest.mark.parametrize(
    ("line", "is_head"),
    [
        (user(RESULT, toolUseResult={"stdout": "much"}), True),
        (user(RESULT, RESULT), True),
        (user(RESULT, {"type": "text", "text": "and a word"}), False),
        ({**user(RESULT), "timestamp": None}, False),
        ({"type": "user", "message": {"content": "hello"}, **TIME}, False),
        ({"type": "system", "content": "x", **TIME}, True),
        ({"type": "ai-title", "aiTitle": "x"}, False),
        ({"type": "attachment", "attachment": {"type": "file"}, **TIME}, True),
        ({"type": "attachment", "attachment": {"type": "queued_command"}, **TIME}, False),
        ({"type": "progress", "data": {"type": "bash_progress"}, **TIME}, True),
        ({"type": "progress", "data": {"type": "agent_progress"}, **TIME}, False),
        ({"message": {"role": "user", "content": "old"}}, False),
    ],
)
def test_only_lines_without_conversation_are_left_as_heads(line: dict[str, Any], is_head: bool) -> None:
    assert bool(compare_readings(json.dumps(line).encode() + b"\n")) is is_head


def test_the_results_of_a_head_stay_bytes() -> None:
    (head,) = compare_readings(json.dumps(user(RESULT, toolUseResult={"stdout": "much"})).encode() + b"\n")
    message = head.line.message
    assert message is not None
    assert isinstance(message.content, list)
    assert b"much" in bytes(message.content[0].content)
    assert head.body["toolUseResult"] == {"stdout": "much"}


def test_broken_and_glued_lines_are_read_as_whole_lines() -> None:
    entry = json.dumps({"type": "system", "content": "x", **TIME}).encode()
    assert compare_readings(entry + entry + b"\n" + b'{"type":"us\n' + b"\n") == []


@pytest.mark.parametrize(
    ("data", "is_whole"),
    [
        (b'{"type":"user"}', True),
        (b'{"type":"us', False),
        (b'{"type":"user"}\n', False),
        (b'{"type":"user","uuid":"1","sessionId":"s"}{"type":"user","uuid":"2","sessionId":"s"}', False),
        (b"{nothing}", False),
    ],
)
def test_a_last_line_without_its_end_may_be_a_whole_entry(data: bytes, is_whole: bool) -> None:
    assert is_whole_entry(data) is is_whole


def read_placed_line(entry: dict[str, Any]) -> PlacedLine:
    (found,) = read_text_lines([json.dumps(entry).encode()])
    assert found is not None
    return found


@pytest.mark.parametrize("path", SESSIONS, ids=["/".join(path.parts[-4:]) for path in SESSIONS])
def test_unsaid_letters_are_the_length_of_the_text_of_a_call_or_a_thought(path: Path) -> None:
    for line in read_text_lines(path.read_bytes().splitlines(keepends=True)):
        if line is not None and (count := count_unsaid_letters(line)) is not None:
            assert count == sum(len(text.words) for text in list_search_texts(line))


def answer(*blocks: Any, **more: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"role": "assistant", "content": list(blocks)}, **TIME, **more}


CALL = {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "make", "description": "Build"}}


@pytest.mark.parametrize(
    ("entry", "count"),
    [
        (answer(CALL), len("Bash\nmake\nBuild")),
        (answer(CALL | {"input": {"command": "make", "description": "", "timeout": 5}}), len("Bash\nmake")),
        (answer(CALL | {"input": {"edits": [{"new": "one"}, "two"]}}), len("Bash\none\ntwo")),
        (
            answer(CALL | {"input": {"type": "base64", "media_type": "image/png", "data": "iVBORw0K"}}),
            len("Bash\nbase64\nimage/png"),
        ),
        (answer(CALL | {"input": ["make", "Build"]}), len("Bash\nmake\nBuild")),
        (answer({"type": "thinking", "thinking": "hm"}), 2),
        (answer({"type": "thinking", "signature": "x"}), None),
        (answer({"type": "text", "text": "said"}), None),
        (answer(CALL, CALL), None),
        (answer(CALL, toolUseResult={}), None),
        ({"type": "user", "message": {"content": "x"}, **TIME}, None),
        ({"type": "assistant", "message": {"content": "x"}, **TIME}, None),
    ],
)
def test_only_a_single_call_or_thought_is_counted(entry: dict[str, Any], count: int | None) -> None:
    line = read_placed_line(entry)
    assert count_unsaid_letters(line) == count
    assert count is None or count == sum(len(text.words) for text in list_search_texts(line))
