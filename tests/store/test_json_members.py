"""Members of a JSON document are set and removed without touching any other byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.errors import TurnlogError
from turnlog.store.json_members import read_json_member, remove_json_member, set_json_member

KEYS = st.text('abé"\\ ', min_size=1, max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, st.dictionaries(KEYS, VALUES, max_size=3), max_size=3)
PATH = ("servers", "mine")


@given(OBJECTS, VALUES, st.sampled_from([None, 1, 2, 4, "\t"]), st.booleans())
def test_a_member_that_is_set_can_be_taken_out_again(
    document: dict[str, Any], value: Any, indent: Any, has_others: bool
) -> None:
    if has_others:
        document = {**document, "servers": {"other": 1}}
    text = json.dumps(document, indent=indent)
    edited = set_json_member(text, PATH, value)
    servers = {**document.get("servers", {}), "mine": value}
    assert json.loads(edited) == {**document, "servers": servers}
    again = set_json_member(edited, PATH, [value])
    assert read_json_member(json.loads(again), PATH) == [value]
    assert json.loads(remove_json_member(again, PATH)) == document


def test_other_bytes_stay_as_they_are() -> None:
    text = '{ "a":1.10,\r\n\t"servers" : {"other":  {"x": [1,2]}} ,"b": "\\u00e9" }'
    edited = set_json_member(text, PATH, {"c": 1})
    assert edited == text.replace('{"x": [1,2]}}', '{"x": [1,2]}, "mine": {"c": 1}}')
    assert remove_json_member(edited, PATH) == text


def test_an_empty_file_becomes_a_document() -> None:
    assert json.loads(set_json_member("", PATH, 1)) == {"servers": {"mine": 1}}
    assert remove_json_member("{}", PATH) == "{}"


@pytest.mark.parametrize("text", ['{"servers": []}', '{"servers": "x"}', '{"servers": 5}', '{"servers": null}'])
def test_something_else_in_the_way_is_refused(text: str) -> None:
    with pytest.raises(TurnlogError, match="servers is not an object"):
        set_json_member(text, PATH, 1)
    with pytest.raises(TurnlogError, match="servers is not an object"):
        remove_json_member(text, PATH)
