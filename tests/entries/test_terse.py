"""Rows in the short form of some tools: no type of answers, content without a message, the time inside the message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.entries.line_decoder import complete_body, decode_body
from turnlog.entries.peek import peek_file
from turnlog.entries.reader import Transcript, scan_lines

TIME = "2025-01-15T10:00:05Z"
ANSWER = {"message": {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "hi"}], "timestamp": TIME}}


def only_entry(row: dict[str, Any] | bytes) -> Any:
    data = row if isinstance(row, bytes) else json.dumps(row).encode()
    file = Transcript.from_bytes(data + b"\n")
    (entry,) = file.entries
    (piece,) = scan_lines([data + b"\n"])
    assert piece.item == entry
    assert file.read_raw(entry) == data + b"\n"
    return entry


def test_an_answer_without_a_type_has_that_of_its_role_and_the_time_of_its_message() -> None:
    entry = only_entry(ANSWER)
    assert (entry.type, entry.timestamp, entry.message.id, entry.flaw) == ("assistant", TIME, "m", "terse")


def test_the_time_of_the_row_counts_before_that_of_its_message() -> None:
    assert only_entry(ANSWER | {"timestamp": "2026-01-01T00:00:00Z"}).timestamp == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize("content", ["hello", [{"type": "tool_result", "tool_use_id": "t"}]])
def test_content_beside_a_type_is_that_of_a_message(content: Any) -> None:
    entry = only_entry({"type": "user", "content": content})
    assert entry.flaw == "terse"
    assert [block.type for block in entry.message.blocks] == ["text" if content == "hello" else "tool_result"]


def test_a_message_counts_before_content_beside_it() -> None:
    row = {"type": "user", "message": {"role": "user", "content": "a"}, "content": "b", "timestamp": TIME}
    assert only_entry(row).message.content == "a"


def test_a_row_that_only_has_its_time_elsewhere_is_one_that_the_client_reads() -> None:
    entry = only_entry({"type": "assistant", **ANSWER})
    assert (entry.timestamp, entry.flaw, entry.is_lost) == (TIME, None, False)


@pytest.mark.parametrize(
    "row",
    [
        {"type": "user"},
        {"type": "user", "content": 5},
        {"type": "user", "message": "text", "content": 7},
        {"type": "system", "content": "text"},
        {"message": {"role": "system", "content": "x"}},
        {"message": {"role": "assistant", "timestamp": 5}, "type": "assistant"},
        {"message": {"content": "role"}, "content": "x"},
    ],
)
def test_other_rows_stay_as_they_are(row: dict[str, Any]) -> None:
    assert complete_body(row) is None
    assert decode_body(json.dumps(row).encode()) == row
    assert only_entry(row).flaw in (None, "types")


def test_a_terse_row_that_is_flawed_besides_is_read_too() -> None:
    entry = only_entry(json.dumps(ANSWER | {"cwd": 7}).encode())
    assert (entry.type, entry.flaw, entry.cwd) == ("assistant", "terse", None)
    broken = json.dumps(ANSWER).encode().replace(b"hi", b"h\xff")
    assert only_entry(broken).type == "assistant"


def test_the_body_of_a_terse_row_has_the_fields_of_the_clients_own() -> None:
    assert decode_body(json.dumps(ANSWER).encode()) == ANSWER | {"type": "assistant", "timestamp": TIME}
    whole = decode_body(b'{"type":"user","content":"hello"}')
    assert whole["message"] == {"role": "user", "content": "hello"}


values = st.none() | st.text(max_size=3) | st.sampled_from(["user", "assistant", 5, [], {}, TIME])
messages = st.none() | st.text(max_size=3) | st.dictionaries(st.sampled_from(["role", "content", "timestamp"]), values)


@given(st.dictionaries(st.sampled_from(["type", "content", "timestamp"]), values), messages, st.booleans())
def test_completing_loses_nothing_and_is_done_once(row: dict[str, Any], message: Any, has_message: bool) -> None:
    given_row = row | ({"message": message} if has_message else {})
    found = complete_body(given_row)
    if found is not None:
        kept = {key: value for key, value in given_row.items() if value is not None}
        assert {key: found[key] for key in kept} == kept
        assert complete_body(found) is None
    assert only_entry(given_row) is not None


def test_a_listing_knows_the_first_prompt_and_the_times_of_terse_rows(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps({"type": "user", "content": "read a file"}) + "\n" + json.dumps(ANSWER) + "\n")
    found = peek_file(path)
    assert (found.first_prompt, found.ended, found.junk) == ("read a file", TIME, None)
