"""A session of terse rows means what it says, in every view."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from turnlog.errors import TurnlogError
from turnlog.session.session import Session
from turnlog.session.texts.lines import read_text_lines
from turnlog.session.texts.texts import list_search_texts
from turnlog.session.usage.totals import count_usage

ROWS = [
    {"sessionId": "sess1", "type": "user", "content": "read a file"},
    {
        "message": {
            "id": "m1",
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "/"}}],
        }
    },
    {"type": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "file data"}]},
    {
        "message": {
            "id": "m2",
            "role": "assistant",
            "model": "claude-sonnet-4-5-20250929",
            "timestamp": "2025-01-15T10:00:05Z",
            "content": [{"type": "text", "text": "done"}],
            "usage": {"input_tokens": 100, "output_tokens": 50, "cache_read_input_tokens": 20},
        }
    },
]
DATA = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)


def test_it_is_one_turn_with_two_messages_and_an_answered_call() -> None:
    session = Session.from_bytes(DATA)
    (turn,) = session.turns
    assert (turn.text, len(turn.messages), len(turn.calls), turn.outcome) == ("read a file", 2, 1, "finished")
    assert [session.read_detail(call).result for call in session.calls] == ["file data"]
    assert (session.title, session.session_id) == ("read a file", "sess1")


def test_its_usage_is_counted_by_the_reader_and_by_the_scan(tmp_path: Path) -> None:
    usage = Session.from_bytes(DATA).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_input_tokens) == (100, 50, 20)
    path = tmp_path / "s.jsonl"
    path.write_bytes(DATA)
    found = count_usage([path], 1)
    assert (found["m2"].input_tokens, found["m2"].last) == (100, "2025-01-15T10:00:05Z")
    assert found.keys() == {"m1", "m2"}


def test_half_a_surrogate_pair_in_a_name_does_not_hide_a_row_from_the_scan(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(DATA.replace(b'{"message"', b'{"\\ud800": 1, "message"'))
    with Session.open(path) as session:
        assert count_usage([path], 1).keys() == {"m1", "m2"} == {message.key for message in session.messages}


def test_a_session_without_a_file_has_its_sub_agents(tmp_path: Path) -> None:
    name = "11111111-2222-4333-8444-555555555555"
    agent = tmp_path / name / "subagents" / "agent-a1.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_bytes(DATA)
    with Session.from_missing_file(tmp_path / f"{name}.jsonl") as session:
        assert (session.session_id, session.messages, [item.agent_id for item in session.agents]) == (name, [], ["a1"])
        assert session.usage.output_tokens == 50


def test_its_texts_have_the_kinds_of_their_places() -> None:
    placed = [item for item in read_text_lines(DATA.splitlines(keepends=True)) if item]
    found = [(text.kind, text.words) for item in placed for text in list_search_texts(item)]
    assert found[0] == ("prompt", "read a file")
    assert ("answer", "done") in found
    assert ("result", "file data") in found


def test_the_client_does_not_read_it_so_nothing_would_be_resumed() -> None:
    with pytest.raises(TurnlogError):
        Session.from_bytes(DATA).conversation()
