"""Entries whose JSON stretches over several lines, as formatters write them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from turnlog.entries.entry import Entry
from turnlog.entries.peek import peek_file
from turnlog.entries.reader import Transcript, scan_lines
from turnlog.entries.spread_values import join_lines, join_spread_value, join_to_line
from turnlog.entries.titles import read_titles

ROWS: list[dict[str, Any]] = [
    {
        "parentUuid": f"u{number - 1}" if number else None,
        "type": "user",
        "uuid": f"u{number}",
        "sessionId": "s",
        "timestamp": f"2026-01-01T10:00:0{number}.000Z",
        "message": {"role": "user", "content": [{"type": "text", "text": 'a "quoted" {brace} [and\\ more\\\\'}]},
        "extra": [{}, [], {"a": {}}],
    }
    for number in range(5)
]
COMPACT = [json.dumps(row).encode() + b"\n" for row in ROWS]


def spread(row: dict[str, Any], indent: int | str = 2, end: str = "\n") -> bytes:
    return (json.dumps(row, indent=indent) + "\n").replace("\n", end).encode()


def describe(data: bytes) -> list[str | None]:
    """Return the uuid of each entry and the kind of each scrap."""
    pieces = list(scan_lines(io.BytesIO(data)))
    assert b"".join(piece.raw for piece in pieces) == data
    assert [item.offset for item, _ in pieces] == [sum(len(raw) for _, raw in pieces[:at]) for at in range(len(pieces))]
    whole = Transcript.from_bytes(data)
    found = [item.uuid if isinstance(item, Entry) else item.kind for item, _ in pieces]
    assert found == [item.uuid if isinstance(item, Entry) else item.kind for item in whole.items]
    return found


@pytest.mark.parametrize("indent", [0, 1, 2, "\t", "        "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_file_that_a_formatter_rewrote_has_the_same_entries(indent: int | str, end: str) -> None:
    data = b"".join(spread(row, indent, end) for row in ROWS)
    assert describe(data) == ["u0", "u1", "u2", "u3", "u4"]
    assert describe(data.rstrip()) == ["u0", "u1", "u2", "u3", "u4"]
    file = Transcript.from_bytes(data)
    assert [file.read_body(entry) for entry in file.entries] == ROWS
    assert {entry.flaw for entry in file.entries} == {"spread"}
    assert [entry.parent for entry in file.entries] == [-1, 0, 1, 2, 3]


def test_such_entries_may_stand_among_ordinary_lines() -> None:
    data = b"".join(spread(row) if at % 2 else COMPACT[at] for at, row in enumerate(ROWS))
    assert describe(data) == ["u0", "u1", "u2", "u3", "u4"]
    flaws = [entry.flaw for entry in Transcript.from_bytes(data).entries]
    assert flaws == [None, "spread", None, "spread", None]


@pytest.mark.parametrize("follows", [COMPACT[1], spread(ROWS[1])])
def test_a_value_that_was_cut_off_costs_nothing_but_itself(follows: bytes) -> None:
    lines = spread(ROWS[0]).splitlines(keepends=True)
    for number in range(1, len(lines)):
        found = describe(b"".join(lines[:number]) + follows + COMPACT[2])
        assert found[-2:] == ["u1", "u2"]
        assert set(found[:-2]) <= {"broken", "value", None}, "an empty object may stand on a line of its own"


def test_a_string_that_was_cut_off_ends_its_value() -> None:
    data = b'{\n  "a": "cut\n' + COMPACT[0]
    assert describe(data) == ["broken", "broken", "u0"]


def test_a_value_that_is_no_json_or_no_object_is_kept_line_by_line() -> None:
    assert describe(b"{\n  nonsense\n}\n" + COMPACT[0]) == ["broken", "broken", "broken", "u0"]
    assert describe(b"[\n1\n]\n" + COMPACT[0]) == ["broken", "value", "broken", "u0"]


def test_a_byte_order_mark_may_come_first() -> None:
    assert describe(b"\xef\xbb\xbf" + spread(ROWS[0])) == ["bom", "u0"]


def test_a_file_of_nothing_but_beginnings_is_read_once() -> None:
    """Each line is looked at as often as if it stood alone, however many there are."""
    lines = [b'{"a": [\n'] * 500
    taken = iter(lines[1:])
    assert b"".join(join_spread_value(lines[0], taken)) == b"".join(lines)
    assert list(taken) == []


def test_lines_that_need_no_others_take_none() -> None:
    rest = iter([b"next\n"])
    assert list(join_spread_value(b"no json\n", rest)) == [b"no json\n"]
    assert list(join_spread_value(b'["a",\n', rest)) == [b'["a",\n']
    assert list(rest) == [b"next\n"]


def test_lines_are_joined_for_those_who_look_at_lines() -> None:
    data = COMPACT[0] + spread(ROWS[1]) + COMPACT[2]
    assert list(join_lines(io.BytesIO(data))) == [COMPACT[0], spread(ROWS[1]), COMPACT[2]]


def test_a_value_is_written_on_one_line_without_any_other_change() -> None:
    number = b'{\n  "a" : 1.50,\n\t"b": " two  words\\n\\" ",\n "c":[ ]\n}\n'
    assert join_to_line(number) == b'{"a":1.50,"b":" two  words\\n\\" ","c":[]}\n'


def test_both_ends_of_such_a_file_are_read(tmp_path: Path) -> None:
    title = {"type": "custom-title", "customTitle": "Volume discounts", "sessionId": "s"}
    big = {"type": "attachment", "uuid": "big", "text": "x" * 200_000}
    for rows in ([*ROWS, title], [*ROWS, big, title]):
        path = tmp_path / "s.jsonl"
        path.write_bytes(b"".join(map(spread, rows)))
        ends = peek_file(path)
        assert (ends.custom_title, ends.junk, ends.started) == ("Volume discounts", None, "2026-01-01T10:00:00.000Z")
        assert ends.first_prompt == 'a "quoted" {brace} [and\\ more\\\\'
        assert read_titles(path).custom == "Volume discounts"
    path.write_bytes(spread(title))
    assert peek_file(path).junk == "metadata-only"


def test_a_file_that_grows_goes_on_after_such_an_entry(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(spread(ROWS[0]).rstrip())
    file = Transcript.open(path)
    assert [entry.uuid for entry in file.entries] == ["u0"]
    with path.open("ab") as more:
        more.write(b"\n" + COMPACT[1])
    assert file.grow()
    assert [entry.uuid for entry in file.entries] == ["u0", "u1"]
    file.close()
