"""Inputs are taken as they are meant, and what is wrong with them is told in Claude Code's sentences."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.tools.room import TOOLS
from turnlog.agent.tools.input_schema import InvalidInput, validate_input

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "mode": {"type": "string", "enum": ["a", "b"]},
        "size": {"type": "number"},
        "loud": {"type": "boolean"},
        "page": {"type": "string", "format": "uri", "minLength": 2},
        "rows": {
            "type": "array",
            "items": {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]},
            "minItems": 1,
            "maxItems": 2,
        },
    },
    "required": ["name"],
    "additionalProperties": False,
}


def complaint(value: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        validate_input("Tool", SCHEMA, value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({}, "issue:\nThe required parameter `name` is missing"),
        ({"name": 3}, "issue:\nThe parameter `name` type is expected as `string` but provided as `number`"),
        ({"name": None}, "issue:\nThe parameter `name` type is expected as `string` but provided as `null`"),
        ({"name": True}, "issue:\nThe parameter `name` type is expected as `string` but provided as `boolean`"),
        (
            {"name": "n", "size": "big"},
            "issue:\nThe parameter `size` type is expected as `number` but provided as `string`",
        ),
        (
            {"name": "n", "size": False},
            "issue:\nThe parameter `size` type is expected as `number` but provided as `boolean`",
        ),
        ({"name": "n", "more": 1}, "issue:\nAn unexpected parameter `more` was provided"),
        ({"name": "n", "rows": [{}]}, "issue:\nThe required parameter `rows[0].x` is missing"),
        (
            {"name": "n", "rows": {}},
            "issue:\nThe parameter `rows` type is expected as `array` but provided as `object`",
        ),
        (
            {"size": [], "mode": "z", "p": 1, "q": 2},
            (
                "issues:\nThe required parameter `name` is missing\nAn unexpected parameter `p` was provided\n"
                "An unexpected parameter `q` was provided\n"
                "The parameter `size` type is expected as `number` but provided as `array`\n"
                'The parameter `mode` is invalid: Invalid option: expected one of "a"|"b"'
            ),
        ),
    ],
)
def test_what_is_wrong_is_told_in_sentences(value: Any, told: str) -> None:
    assert complaint(value) == f"InputValidationError: Tool failed due to the following {told}"


def test_a_value_that_is_none_of_the_choices_is_told_as_the_issue_itself() -> None:
    told = complaint({"name": "n", "mode": "z"})
    assert told.startswith('InputValidationError: [\n  {\n    "code": "invalid_value",\n    "values": [\n      "a",')


def test_a_text_that_must_be_filled_is_not_empty() -> None:
    assert '"code": "too_small"' in complaint({"name": ""})
    assert '"message": "Name cannot be empty"' in complaint({"name": ""})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"rows": []}, "Too small: expected array to have >=1 items"),
        ({"rows": [{"x": "1"}] * 3}, "Too big: expected array to have <=2 items"),
        ({"page": "x"}, "Too small: expected string to have >=2 characters"),
        ({"page": "no address"}, "Invalid URL"),
    ],
)
def test_sizes_and_forms_are_told_as_the_issue_itself(value: Any, message: str) -> None:
    assert f'"message": "{message}"' in complaint({"name": "n"} | value)


def test_the_record_holds_the_issues_and_the_model_reads_the_sentences() -> None:
    with pytest.raises(InvalidInput) as caught:
        validate_input("Tool", SCHEMA, {})
    result = caught.value.to_result()
    assert result.is_error
    assert str(result.content).startswith("<tool_use_error>InputValidationError: Tool failed")
    assert result.structured.startswith('InputValidationError: [\n  {\n    "expected": "string",')


@pytest.mark.parametrize(
    ("given_value", "taken"),
    [
        ({"size": "12"}, {"size": 12}),
        ({"size": "-1.5"}, {"size": -1.5}),
        ({"loud": "true"}, {"loud": True}),
        ({"loud": "false"}, {"loud": False}),
        ({"rows": '[{"x": "1"}]'}, {"rows": [{"x": "1"}]}),
        ({"name": "12"}, {"name": "12"}),
        ({"rows": [{"x": "1", "more": 2}]}, {"rows": [{"x": "1", "more": 2}]}),
    ],
)
def test_what_came_as_a_string_is_taken_as_it_is_meant(given_value: Any, taken: Any) -> None:
    assert validate_input("Tool", SCHEMA, {"name": "n"} | given_value) == {"name": "n"} | taken


@pytest.mark.parametrize("value", [None, [], "text", 3, "[1]", "{"])
def test_an_input_that_is_no_object_is_refused(value: Any) -> None:
    assert "is expected as `object`" in complaint(value)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.sampled_from(TOOLS), st.data())
def test_any_input_is_taken_or_refused_but_never_breaks(tool: Any, data: st.DataObject) -> None:
    names = st.sampled_from([*tool.schema["properties"], "other"])
    value = data.draw(st.dictionaries(names, values) | values)
    try:
        taken = validate_input(tool.name, tool.schema, value)
    except InvalidInput:
        return
    assert set(tool.schema["required"]) <= set(taken) <= set(tool.schema["properties"])
