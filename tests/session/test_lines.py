"""The lines of a file with their texts: every entry, wherever it stands, and whatever is wrong with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.session.build import DATA, Build
from turnlog.entries.reader import Transcript
from turnlog.session.texts.lines import LineBlock, PlacedLine, read_text_lines, replace_lone_surrogates


def read_placed_lines(data: bytes) -> list[PlacedLine | None]:
    return list(read_text_lines(data.splitlines(keepends=True)))


def one(data: bytes) -> PlacedLine:
    (found,) = read_placed_lines(data)
    assert found is not None
    return found


def test_a_line_has_its_texts_its_place_and_its_bytes() -> None:
    build = Build()
    build.prompt("hello", "u1")
    build.answer("there", uuid="a1", usage={"output_tokens": 3})
    data = build.data()
    first, second = read_placed_lines(data)
    assert first is not None
    assert second is not None
    assert (first.offset, first.raw + second.raw) == (0, data)
    assert second.offset == len(first.raw)
    assert first.line.message is not None
    assert first.line.message.content == "hello"
    message = second.line.message
    assert message is not None
    assert message.content == [LineBlock("text", "there")]
    assert message.usage is not None
    assert message.usage.output_tokens == 3


def test_the_body_is_the_whole_object() -> None:
    found = one(b'{"type":"system","content":"x","more":[1]}\n')
    assert found.body == {"type": "system", "content": "x", "more": [1]}
    assert found.body is found.body


def test_places_count_from_where_the_lines_begin() -> None:
    (found,) = read_text_lines([b'{"type":"user"}\n'], 700)
    assert found is not None
    assert found.offset == 700


def test_glued_entries_are_entries_each() -> None:
    entry = b'{"type":"user","uuid":"%d","sessionId":"s"}'
    found = read_placed_lines(entry % 1 + entry % 2 + b"\n")
    assert [item and (item.line.uuid, item.offset) for item in found] == [("1", 0), ("2", len(entry % 1))]
    assert b"".join(item.raw for item in found if item) == entry % 1 + entry % 2 + b"\n"


@pytest.mark.parametrize("line", [b"nothing\n", b'{"type":"us', b"[1]\n", b"7\n"])
def test_a_line_that_should_be_an_entry_and_is_none_is_counted(line: bytes) -> None:
    assert read_placed_lines(line) == [None]


@pytest.mark.parametrize("line", [b"\n", b"  \n", b"\0\0\0\n", b"// comment\n", b"\xef\xbb\xbf"])
def test_what_nobody_meant_to_be_an_entry_is_passed_over(line: bytes) -> None:
    assert read_placed_lines(line) == []


@pytest.mark.parametrize(
    ("fields", "name", "expected"),
    [
        ({"cwd": {}, "type": "user"}, "cwd", None),
        ({"cwd": {}, "type": "user"}, "type", "user"),
        ({"uuid": 7}, "uuid", "#7"),
        ({"isSidechain": 1}, "is_sidechain", True),
        ({"message": 3, "version": "1"}, "version", "1"),
        ({"timestamp": 12, "toolUseResult": [1]}, "tool_use_result", [1]),
    ],
)
def test_fields_of_the_wrong_type_are_left_out_and_the_others_kept(
    fields: dict[str, Any], name: str, expected: object
) -> None:
    assert getattr(one(json.dumps(fields).encode()).line, name) == expected


def test_a_message_of_the_wrong_types_keeps_what_fits() -> None:
    said = {
        "id": 5,
        "model": "m",
        "content": [{"type": "text", "text": "a"}, 7, {"type": "text", "text": 8}],
        "usage": [],
    }
    message = one(json.dumps({"type": "assistant", "message": said}).encode()).line.message
    assert message is not None
    assert (message.id, message.model, message.usage) == (None, "m", None)
    assert message.content == [LineBlock("text", "a"), LineBlock("text")]


def test_bytes_that_are_no_utf_8_become_the_replacement_character() -> None:
    message = one(b'{"type":"user","message":{"content":"a\xffb"}}\n').line.message
    assert message is not None
    assert message.content == "a\ufffdb"


def test_half_a_surrogate_pair_becomes_the_replacement_character() -> None:
    found = one(rb'{"type":"user","message":{"content":"a\ud800b"},"k\udfff":["\ud83d\ude00",1]}' + b"\n")
    assert found.line.message is not None
    assert found.line.message.content == "a\ufffdb"
    assert found.body["k\ufffd"] == ["\U0001f600", 1]


def test_a_sound_value_stays_as_it_is() -> None:
    value = {"a": ["é", 1, None, {"b": "\U0001f600"}], "c": True}
    assert replace_lone_surrogates(value) == value


def test_lines_and_entries_of_recorded_files_are_the_same() -> None:
    files = sorted(DATA.glob("sessions/**/*.jsonl")) + sorted(DATA.glob("variants/*.jsonl"))
    assert files
    for path in files:
        data = path.read_bytes()
        entries = [(entry.offset, entry.type, entry.uuid) for entry in Transcript.from_bytes(data).entries]
        found = [(item.offset, item.line.type, item.line.uuid) for item in read_placed_lines(data) if item]
        assert found == entries, path
