"""Other values for some keys of a line, and every other byte as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.build import DATA
from turnlog.entries.patch import REMOVE_KEY, encode_json_line, join_raw_values, patch_entry, read_raw_values
from turnlog.entries.reader import Transcript

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.text(), JSON, max_size=5)


def same(one: bytes, other: Any) -> bool:
    return bool(json.loads(one) == other)


@given(OBJECTS, OBJECTS)
def test_changed_keys_have_their_new_values_and_the_others_their_old_ones(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    raw = json.dumps(old).encode() + b"\n"
    assert same(patch_entry(raw, new), {**old, **new})


@given(OBJECTS, st.sets(st.text()))
def test_a_key_that_goes_takes_nothing_else_along(old: dict[str, Any], gone: set[str]) -> None:
    raw = json.dumps(old).encode()
    assert same(patch_entry(raw, dict.fromkeys(gone, REMOVE_KEY)), {key: old[key] for key in old if key not in gone})


@pytest.mark.parametrize(
    "value",
    [
        b"1.0",
        b"1e400",
        b"123456789012345678901234567890",
        rb'"\u0041\/"',
        b'"\xff"',
        rb'"\ud800"',
        b"[" * 600 + b"]" * 600,
    ],
)
def test_a_value_that_is_not_changed_stays_byte_for_byte(value: bytes) -> None:
    raw = b'  {"a" : ' + value + b' ,"b":1}\r\n'
    assert patch_entry(raw, {"b": 2}) == b'  {"a":' + value + b',"b":2}\r\n'


def test_a_repeated_key_counts_once_as_the_client_reads_it() -> None:
    assert patch_entry(b'{"a":1,"b":2,"a":3}', {"b": 4}) == b'{"a":3,"b":4}'


def test_halves_of_surrogate_pairs_are_written_as_escapes() -> None:
    assert encode_json_line({"a": "\ud800"}) == rb'{"a":"\ud800"}'
    assert join_raw_values(read_raw_values(rb'{"\ud800":1,"b":"\xff"}')) == rb'{"\ud800":1,"b":"\xff"}'


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"garbage",
        b'{"a":1',
        b'{"a":1,"b":{"c"',
        b'{"a":1}{"b":2}',
        b'{"a":1} x',
        b'x {"a":1}',
        b'[{"a":1}]',
        b'{"a":1,,"b":2}',
        b'{"a":,"b":2}',
        b'{a:1,"b":"\xff"}',
        b'{1:1,"b":"\xff"}',
        b'{"a":"\xff"]',
        b'{"a":1,"b":"\xff",}',
    ],
)
def test_a_line_that_is_no_object_has_no_values(line: bytes) -> None:
    assert read_raw_values(line) == {}


def test_what_is_broken_inside_of_a_value_stays_broken() -> None:
    assert patch_entry(b'{"a":1 "b":2,"c":3}', {"c": 4}) == b'{"a":1 "b":2,"c":4}'


def test_a_byte_order_mark_stays_before_the_object() -> None:
    assert patch_entry(b'\xef\xbb\xbf{"a":1}\n', {"a": 2}) == b'\xef\xbb\xbf{"a":2}\n'


@pytest.mark.parametrize("path", sorted(DATA.glob("variants/*.jsonl")), ids=lambda path: path.stem)
def test_a_genuine_line_means_the_same_when_one_key_is_set_to_what_it_is(path: Path) -> None:
    with_all = Transcript.open(path)
    for entry in with_all.entries:
        body = with_all.read_body(entry)
        assert json.loads(patch_entry(with_all.read_raw(entry), {"type": body["type"]})) == body
    with_all.close()


def test_values_with_values_inside_are_found_in_an_object_that_can_not_be_decoded() -> None:
    found = read_raw_values(b'{"a":{"b":[1]},"c":01}')
    assert {name: bytes(value) for name, value in found.items()} == {"a": b'{"b":[1]}', "c": b"01"}
