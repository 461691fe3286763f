"""Strings of a JSON document are changed, and every other byte stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.edit.move.translated_files import JsonString, iterate_json_strings, replace_json_strings

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


def test_strings_are_told_with_the_keys_that_lead_to_them() -> None:
    raw = b'{"a": {"b": ["x", {"c": "y"}], "d": 1}, "e": "z"}'
    found = [(text.value, text.keys, text.is_key) for text in iterate_json_strings(raw)]
    assert found == [
        ("a", (), True),
        ("b", ("a",), True),
        ("x", ("a", "b"), False),
        ("c", ("a", "b"), True),
        ("y", ("a", "b", "c"), False),
        ("d", ("a",), True),
        ("e", (), True),
        ("z", ("e",), False),
    ]


def test_only_what_is_changed_changes() -> None:
    raw = b'\xef\xbb\xbf{ "k" :\t1.50, "\\u006b":"\\/x" ,\r\n"l":["x", "x"]}\n'
    new = replace_json_strings(raw, lambda text: "N" if text.value == "x" else text.value)
    assert new == raw.replace(b'"x"', b'"N"')


@pytest.mark.parametrize("raw", [b"", b"{", b'{"x":"x"', b'"x" "x"', b"[" * 100_000])
def test_what_is_no_json_stays(raw: bytes) -> None:
    assert replace_json_strings(raw, lambda _: "N") == raw


@given(JSON, st.sampled_from([None, 2]))
def test_any_document_is_changed_as_if_it_were_decoded(value: Any, indent: int | None) -> None:
    raw = json.dumps(value, indent=indent).encode()
    assert replace_json_strings(raw, lambda text: text.value) == raw
    assert json.loads(replace_json_strings(raw, _mark_value)) == _mark_all(value)


def _mark_value(text: JsonString) -> str:
    return text.value if text.is_key else f"{text.value}!"


def _mark_all(value: Any) -> Any:
    if isinstance(value, str):
        return f"{value}!"
    if isinstance(value, dict):
        return {key: _mark_all(inner) for key, inner in value.items()}
    return [_mark_all(inner) for inner in value] if isinstance(value, list) else value
