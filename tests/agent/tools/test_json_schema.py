"""Values checked against any JSON schema: the same verdicts as a full implementation, in the client's words."""

from __future__ import annotations

from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from turnlog.agent.tools.json_schema import InvalidSchema, SchemaChecker

Json = dict[str, Any]
WIDE: Json = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "minimum": 1, "maximum": 5},
        "s": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^a"},
        "e": {"enum": ["x", "y"]},
        "c": {"const": 1},
        "l": {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 2, "uniqueItems": True},
        "o": {"type": "object", "required": ["k"], "properties": {"k": {"type": ["string", "null"]}},
              "additionalProperties": False},
        "a": {"anyOf": [{"type": "string"}, {"type": "number"}]},
        "one": {"oneOf": [{"type": "integer"}, {"type": "number"}]},
        "no": {"not": {"type": "string"}},
        "f": {"type": "string", "format": "date"},
        "r": {"$ref": "#/$defs/k"},
        "m": {"type": "number", "multipleOf": 3, "exclusiveMinimum": 3},
    },
    "$defs": {"k": {"type": "boolean"}},
    "required": ["n"],
    "additionalProperties": False,
}  # fmt: skip
MEASURED: list[tuple[Json, list[str]]] = [
    ({}, ["root: must have required property 'n'"]),
    (
        {"n": 9, "s": "b", "e": "z", "c": 2, "l": ["x"], "o": {}},
        [
            "/n: must be <= 5",
            "/s: must NOT have fewer than 2 characters (got 1)",
            '/s: must match pattern "^a"',
            '/e: must be equal to one of the allowed values: ["x","y"]',
            "/c: must be equal to constant: 1",
            "/l/0: must be number",
            "/o: must have required property 'k'",
        ],
    ),
    (
        {"n": 1.5, "s": "abcdef", "l": [1, 1, 1], "o": {"k": 3, "z": 1}},
        [
            "/n: must be integer",
            "/s: must NOT have more than 4 characters (got 6)",
            "/l: must NOT have more than 2 items (got 3)",
            "/l: must NOT have duplicate items (items ## 2 and 1 are identical)",
            "/o: must NOT have additional properties ('z' is not allowed)",
            "/o/k: must be string,null",
        ],
    ),
    (
        {"n": 1, "a": True, "one": 3, "no": "s", "f": "nope", "r": 1, "m": 2, "q/q": 1},
        [
            "root: must NOT have additional properties ('q/q' is not allowed)",
            "/a: must be string",
            "/a: must be number",
            "/a: must match a schema in anyOf",
            "/one: must match exactly one schema in oneOf",
            "/no: must NOT be valid",
            "/r: must be boolean",
            "/m: must be > 3",
            "/m: must be multiple of 3",
        ],
    ),
]


@pytest.mark.parametrize(("value", "texts"), MEASURED)
def test_violations_are_named_as_by_the_newest_client(value: Json, texts: list[str]) -> None:
    assert [str(one) for one in SchemaChecker(WIDE).find_violations(value)] == texts


SCHEMAS: list[Json] = [
    WIDE,
    {},
    *({"type": kind} for kind in ("string", "boolean", "null", "array", "object", "number", "integer")),
    {"type": ["integer", "null"]},
    {"enum": [1, "a", None, [1], {"a": 1}, True]},
    {"const": 0},
    {"const": {"a": [1, {"b": False}]}},
    {"minimum": 2, "exclusiveMaximum": 5},
    {"multipleOf": 0.5},
    {"minLength": 1, "maxLength": 2},
    {"pattern": r"^\d+$"},
    {"minItems": 1, "maxItems": 2},
    {"uniqueItems": True},
    {"items": {"type": "integer"}},
    {"prefixItems": [{"type": "string"}, {"type": "integer"}]},
    {"prefixItems": [{"type": "string"}], "items": {"type": "integer"}},
    {"prefixItems": [{"type": "string"}], "items": False},
    {"contains": {"type": "string"}},
    {"contains": {"type": "integer"}, "minContains": 2, "maxContains": 2},
    {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
    {"properties": {"a": True, "b": False}},
    {"patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": {"type": "string"}},
    {"patternProperties": {"^a": {}}, "properties": {"b": {}}, "additionalProperties": False},
    {"propertyNames": {"maxLength": 1}},
    {"minProperties": 1, "maxProperties": 1},
    {"dependentRequired": {"a": ["b"]}},
    {"dependentSchemas": {"a": {"required": ["b"]}}},
    {"if": {"type": "integer"}, "then": {"minimum": 3}, "else": {"type": "string"}},
    {"if": {"required": ["a"]}, "then": {"required": ["b"]}},
    {"allOf": [{"type": "integer"}, {"minimum": 2}]},
    {"anyOf": [{"type": "integer"}, {"required": ["a"]}]},
    {"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 3}]},
    {"not": {"anyOf": [{"type": "string"}, {"type": "object"}]}},
    {"$ref": "#/definitions/tree", "definitions": {"tree": {"type": "object", "properties": {
        "a": {"$ref": "#/definitions/tree"}}, "required": ["b"]}}},
    {"properties": {"a~b/c": {"type": "integer"}, "r": {"$ref": "#/properties/a~0b~1c"}}},
]  # fmt: skip
VALUES: list[Any] = [
    None, True, False, 0, 1, 1.0, 2, 3, 3.5, 4, 0.3, -1, 10**20, "", "a", "ab", "abc", "12", "é", [], [1], [1, 1],
    [1, True],
    ["a", 1], ["a", "b"], [1, 1.0, 2], ["a", 1, 2], {}, {"a": 1}, {"a": "x"}, {"b": 1}, {"a": 1, "b": 2}, {"ab": "x"},
    {"c": 1}, {"c": "x"}, {"a": [1, {"b": False}]}, {"a": [1, {"b": 0}]}, {"a": {"b": 1}, "b": 1}, {"a": {}, "b": 1},
    {"a~b/c": 1, "r": "x"}, {"r": 1}, {"n": 3, "s": "ab", "l": [1, 2], "o": {"k": None}, "m": 6},
]  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_verdicts_are_those_of_a_full_implementation(schema: Json) -> None:
    full, checker = jsonschema.Draft202012Validator(schema), SchemaChecker(schema)
    assert [not checker.find_violations(value) for value in VALUES] == [full.is_valid(value) for value in VALUES]


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"foo": 1}, "'foo'"),
        ({"properties": {"a": {"unevaluatedProperties": False}}}, "'unevaluatedProperties'"),
        ({"type": "nonsense"}, "nonsense"),
        ({"$ref": "#/$defs/none"}, "points to nothing"),
        ({"$ref": "https://example.com/schema"}, "does not point into the schema itself"),
        ({"pattern": "("}, "pattern"),
        ({"required": "a"}, "required is not of type array"),
        ({"items": [{}]}, "not a schema"),
        ({"anyOf": []}, "anyOf is empty"),
        ({"multipleOf": 0}, "multipleOf"),
    ],
)
def test_a_schema_that_can_not_be_applied_in_full_is_refused(schema: Json, why: str) -> None:
    with pytest.raises(InvalidSchema, match=why):
        SchemaChecker(schema)


def test_endless_references_and_depth_end_in_a_violation() -> None:
    value: Any = 1
    for _ in range(2000):
        value = [value]
    loop = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}
    deep = {"items": {"$ref": "#"}}
    assert [one.message for one in SchemaChecker(loop).find_violations(1)] == ["is nested too deeply to be checked"]
    assert SchemaChecker(deep).find_violations(value)
