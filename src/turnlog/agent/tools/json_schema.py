"""Checks a value against any JSON schema that a caller may give (draft 2020-12, and `definitions` of older drafts).

The messages are the same as Claude Code's. `format` is not checked, as there. A schema with a keyword that is not
supported is refused, so that no part of it is silently without effect.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

Schema = Any
"""An object, or true or false."""
_ANNOTATIONS = frozenset(
    "$schema $id $comment $anchor title description default examples deprecated readOnly writeOnly format"
    " contentEncoding contentMediaType $defs definitions".split()
)
_SCHEMA_KEYS = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_SCHEMA_LIST_KEYS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SCHEMA_MAP_KEYS = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, Mapping),
    "number": lambda value: _is_number(value),
    "integer": lambda value: _is_number(value) and value == int(value),
}


class InvalidSchema(Exception):
    """A schema that can't be used; the text says why."""


class SchemaViolation(NamedTuple):
    path: str
    """A JSON pointer to the part of the value."""
    message: str

    def __str__(self) -> str:
        return f"{self.path or 'root'}: {self.message}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class SchemaChecker:
    """Checks values against one schema; the constructor raises InvalidSchema if the schema can't be used."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._root = schema
        try:
            self._check_schema(schema)
        except RecursionError:
            raise InvalidSchema("it is nested too deeply") from None

    def find_violations(self, value: Any) -> list[SchemaViolation]:
        try:
            return list(self._find(self._root, value, ""))
        except RecursionError:
            return [SchemaViolation("", "is nested too deeply to be checked")]

    # -- the schema itself

    def _check_schema(self, schema: Schema) -> None:
        if isinstance(schema, bool):
            return
        if not isinstance(schema, Mapping):
            raise InvalidSchema(f"{_to_text(schema)} is not a schema")
        known = {*_KEYWORDS, *_ANNOTATIONS, "then", "else"}
        if unknown := [key for key in schema if key not in known]:
            raise InvalidSchema(f"the keyword {unknown[0]!r} is not supported")
        for key, value in schema.items():
            self._check_keyword(key, value)
        for key in _SCHEMA_KEYS:
            if key in schema:
                self._check_schema(schema[key])
        for inner in (one for key in _SCHEMA_LIST_KEYS for one in schema.get(key, ())):
            self._check_schema(inner)
        for inner in (one for key in _SCHEMA_MAP_KEYS for one in schema.get(key, {}).values()):
            self._check_schema(inner)

    def _check_keyword(self, key: str, value: Any) -> None:
        kinds = [value] if isinstance(value, str) else value
        if key == "type" and not (isinstance(kinds, list) and all(kind in _TYPES for kind in kinds)):
            raise InvalidSchema(f"type {_to_text(value)} is not one of {', '.join(_TYPES)}")
        expected = _KEYWORD_TYPES.get(key)
        if expected and not _TYPES[expected](value):
            raise InvalidSchema(f"{key} is not of type {expected}")
        if key in _SCHEMA_LIST_KEYS and key != "prefixItems" and not value:
            raise InvalidSchema(f"{key} is empty")
        for pattern in [value] if key == "pattern" else value if key == "patternProperties" else ():
            _compile_pattern(pattern)
        if key == "multipleOf" and value <= 0:
            raise InvalidSchema("multipleOf is not greater than 0")
        if key == "$ref":
            self._resolve(value)

    def _resolve(self, ref: str) -> Schema:
        """Return the schema that a reference inside the same document points to."""
        found: Any = self._root
        if not re.fullmatch(r"#(/.*)?", ref, re.DOTALL):
            raise InvalidSchema(f"$ref {ref!r} does not point into the schema itself")
        for step in ref.split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~").replace("%25", "%")
            if isinstance(found, list) and step.isdecimal() and int(step) < len(found):
                found = found[int(step)]
            elif isinstance(found, Mapping) and step in found:
                found = found[step]
            else:
                raise InvalidSchema(f"$ref {ref!r} points to nothing")
        return found

    # -- values

    def _find(self, schema: Schema, value: Any, path: str) -> Iterator[SchemaViolation]:
        if isinstance(schema, bool):
            if not schema:
                yield SchemaViolation(path, "boolean schema is false")
            return
        kinds = schema.get("type")
        if kinds is not None and not any(_TYPES[one](value) for one in ([kinds] if isinstance(kinds, str) else kinds)):
            wanted = kinds if isinstance(kinds, str) else ",".join(kinds)
            yield SchemaViolation(path, f"must be {wanted}")
        for key, (kind, find) in _KEYWORDS.items():
            if key in schema and (kind is None or _TYPES[kind](value)):
                yield from find(self, schema, value, path)

    def _is_valid(self, schema: Schema, value: Any) -> bool:
        return next(self._find(schema, value, ""), None) is None

    def _find_ref(self, schema: Schema, value: Any, path: str) -> Iterator[SchemaViolation]:
        yield from self._find(self._resolve(schema["$ref"]), value, path)

    def _find_all_of(self, schema: Schema, value: Any, path: str) -> Iterator[SchemaViolation]:
        for inner in schema["allOf"]:
            yield from self._find(inner, value, path)

    def _find_any_of(self, schema: Schema, value: Any, path: str) -> Iterator[SchemaViolation]:
        found = [list(self._find(inner, value, path)) for inner in schema["anyOf"]]
        if all(found):
            yield from (violation for violations in found for violation in violations)
            yield SchemaViolation(path, "must match a schema in anyOf")

    def _find_one_of(self, schema: Schema, value: Any, path: str) -> Iterator[SchemaViolation]:
        found = [list(self._find(inner, value, path)) for inner in schema["oneOf"]]
        if sum(not violations for violations in found) != 1:
            yield from (violation for violations in found for violation in violations if all(found))
            yield SchemaViolation(path, "must match exactly one schema in oneOf")

    def _find_not(self, schema: Schema, value: Any, path: str) -> Iterator[SchemaViolation]:
        if self._is_valid(schema["not"], value):
            yield SchemaViolation(path, "must NOT be valid")

    def _find_if(self, schema: Schema, value: Any, path: str) -> Iterator[SchemaViolation]:
        branch = "then" if self._is_valid(schema["if"], value) else "else"
        found = list(self._find(schema.get(branch, True), value, path))
        yield from found
        if found:
            yield SchemaViolation(path, f'must match "{branch}" schema')

    def _find_in_items(self, schema: Schema, value: Any, path: str) -> Iterator[SchemaViolation]:
        first = schema.get("prefixItems", ())
        for at, item in enumerate(value):
            inner = first[at] if at < len(first) else schema.get("items", True)
            yield from self._find(inner, item, f"{path}/{at}")

    def _find_in_first_items(self, schema: Schema, value: Any, path: str) -> Iterator[SchemaViolation]:
        if "items" not in schema:  # which looks at all of them
            yield from self._find_in_items(schema, value, path)

    def _find_contains(self, schema: Schema, value: Any, path: str) -> Iterator[SchemaViolation]:
        least, most = schema.get("minContains", 1), schema.get("maxContains")
        count = sum(self._is_valid(schema["contains"], item) for item in value)
        if count < least or (most is not None and count > most):
            limit = f"at least {least}" + (f" and no more than {most}" if most is not None else "")
            yield SchemaViolation(path, f"must contain {limit} valid item(s)")

    def _find_additional(self, schema: Schema, value: Any, path: str) -> Iterator[SchemaViolation]:
        patterns = [_compile_pattern(pattern) for pattern in schema.get("patternProperties", ())]
        for key, item in value.items():
            if key in schema.get("properties", ()) or any(pattern.search(key) for pattern in patterns):
                continue
            if schema["additionalProperties"] is False:
                yield SchemaViolation(path, f"must NOT have additional properties ({key!r} is not allowed)")
            else:
                yield from self._find(schema["additionalProperties"], item, _join(path, key))

    def _find_in_properties(self, schema: Schema, value: Any, path: str) -> Iterator[SchemaViolation]:
        for key, inner in schema["properties"].items():
            if key in value:
                yield from self._find(inner, value[key], _join(path, key))

    def _find_in_patterns(self, schema: Schema, value: Any, path: str) -> Iterator[SchemaViolation]:
        for pattern, inner in schema["patternProperties"].items():
            for key in filter(_compile_pattern(pattern).search, value):
                yield from self._find(inner, value[key], _join(path, key))

    def _find_in_names(self, schema: Schema, value: Any, path: str) -> Iterator[SchemaViolation]:
        for key in value:
            if not self._is_valid(schema["propertyNames"], key):
                yield SchemaViolation(path, f"property name must be valid ({key!r} is not)")

    def _find_in_dependents(self, schema: Schema, value: Any, path: str) -> Iterator[SchemaViolation]:
        for key, inner in schema["dependentSchemas"].items():
            if key in value:
                yield from self._find(inner, value, path)


# -- keywords that compare a value without looking into further schemas


def _find_enum(_: SchemaChecker, schema: Schema, value: Any, path: str) -> Iterator[SchemaViolation]:
    if not any(_is_same(value, one) for one in schema["enum"]):
        yield SchemaViolation(path, f"must be equal to one of the allowed values: {_to_text(schema['enum'])}")


def _find_const(_: SchemaChecker, schema: Schema, value: Any, path: str) -> Iterator[SchemaViolation]:
    if not _is_same(value, schema["const"]):
        yield SchemaViolation(path, f"must be equal to constant: {_to_text(schema['const'])}")


def _find_required(_: SchemaChecker, schema: Schema, value: Any, path: str) -> Iterator[SchemaViolation]:
    for key in schema["required"]:
        if key not in value:
            yield SchemaViolation(path, f"must have required property '{key}'")


def _find_dependent(_: SchemaChecker, schema: Schema, value: Any, path: str) -> Iterator[SchemaViolation]:
    for key, needed in schema["dependentRequired"].items():
        missing = [one for one in needed if one not in value] if key in value else []
        if missing:
            yield SchemaViolation(path, f"must have property {missing[0]} when property {key} is present")


def _find_duplicates(_: SchemaChecker, schema: Schema, value: Any, path: str) -> Iterator[SchemaViolation]:
    if schema["uniqueItems"]:
        pairs = ((late, early) for late in range(len(value) - 1, 0, -1) for early in range(late - 1, -1, -1))
        found = next((pair for pair in pairs if _is_same(value[pair[0]], value[pair[1]])), None)
        if found:
            text = f"must NOT have duplicate items (items ## {found[0]} and {found[1]} are identical)"
            yield SchemaViolation(path, text)


def _find_mismatch(_: SchemaChecker, schema: Schema, value: Any, path: str) -> Iterator[SchemaViolation]:
    if not _compile_pattern(schema["pattern"]).search(value):
        yield SchemaViolation(path, f'must match pattern "{schema["pattern"]}"')


def _find_remainder(_: SchemaChecker, schema: Schema, value: Any, path: str) -> Iterator[SchemaViolation]:
    if Fraction(str(value)) % Fraction(str(schema["multipleOf"])):
        yield SchemaViolation(path, f"must be multiple of {schema['multipleOf']}")


_Find = Callable[[SchemaChecker, Schema, Any, str], Iterator[SchemaViolation]]


def _limit_value(key: str, sign: str, is_met: Callable[[Any, Any], bool]) -> _Find:
    def find(_: SchemaChecker, schema: Schema, value: Any, path: str) -> Iterator[SchemaViolation]:
        if not is_met(value, schema[key]):
            yield SchemaViolation(path, f"must be {sign} {schema[key]}")

    return find


def _limit_size(key: str, unit: str) -> _Find:
    def find(_: SchemaChecker, schema: Schema, value: Any, path: str) -> Iterator[SchemaViolation]:
        limit, size = schema[key], len(value)
        is_minimum = key.startswith("min")
        if size < limit if is_minimum else size > limit:
            text = f"must NOT have {'fewer' if is_minimum else 'more'} than {limit} {unit} (got {size})"
            yield SchemaViolation(path, text)

    return find


_KEYWORDS: Mapping[str, tuple[str | None, _Find]] = {
    "type": (None, lambda *_: iter(())),
    "$ref": (None, SchemaChecker._find_ref),
    "maximum": ("number", _limit_value("maximum", "<=", lambda value, limit: value <= limit)),
    "minimum": ("number", _limit_value("minimum", ">=", lambda value, limit: value >= limit)),
    "exclusiveMaximum": ("number", _limit_value("exclusiveMaximum", "<", lambda value, limit: value < limit)),
    "exclusiveMinimum": ("number", _limit_value("exclusiveMinimum", ">", lambda value, limit: value > limit)),
    "multipleOf": ("number", _find_remainder),
    "maxLength": ("string", _limit_size("maxLength", "characters")),
    "minLength": ("string", _limit_size("minLength", "characters")),
    "pattern": ("string", _find_mismatch),
    "maxItems": ("array", _limit_size("maxItems", "items")),
    "minItems": ("array", _limit_size("minItems", "items")),
    "uniqueItems": ("array", _find_duplicates),
    "maxProperties": ("object", _limit_size("maxProperties", "properties")),
    "minProperties": ("object", _limit_size("minProperties", "properties")),
    "required": ("object", _find_required),
    "dependentRequired": ("object", _find_dependent),
    "enum": (None, _find_enum),
    "const": (None, _find_const),
    "not": (None, SchemaChecker._find_not),
    "anyOf": (None, SchemaChecker._find_any_of),
    "oneOf": (None, SchemaChecker._find_one_of),
    "allOf": (None, SchemaChecker._find_all_of),
    "if": (None, SchemaChecker._find_if),
    "prefixItems": ("array", SchemaChecker._find_in_first_items),
    "items": ("array", SchemaChecker._find_in_items),
    "contains": ("array", SchemaChecker._find_contains),
    "minContains": ("array", lambda *_: iter(())),
    "maxContains": ("array", lambda *_: iter(())),
    "dependentSchemas": ("object", SchemaChecker._find_in_dependents),
    "propertyNames": ("object", SchemaChecker._find_in_names),
    "additionalProperties": ("object", SchemaChecker._find_additional),
    "properties": ("object", SchemaChecker._find_in_properties),
    "patternProperties": ("object", SchemaChecker._find_in_patterns),
}
"""Every keyword in the order in which it is checked, with the type of value that it applies to."""
_KEYWORD_TYPES = {
    **dict.fromkeys(("maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf"), "number"),
    **dict.fromkeys(("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"), "integer"),
    **dict.fromkeys(("minContains", "maxContains"), "integer"),
    **dict.fromkeys(("enum", "required", *_SCHEMA_LIST_KEYS), "array"),
    **dict.fromkeys((*_SCHEMA_MAP_KEYS, "dependentRequired"), "object"),
    **dict.fromkeys(("pattern", "$ref"), "string"),
    "uniqueItems": "boolean",
}


@cache
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.ASCII)
    except re.error as error:
        raise InvalidSchema(f"the pattern {pattern!r} is not supported ({error})") from None


def _is_same(one: Any, other: Any) -> bool:
    """Compare as JSON does: 1 and 1.0 are the same, 1 and true are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Sequence) and isinstance(other, Sequence) and not isinstance(one, str):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_is_same(one[key], other[key]) for key in one)
    return bool(one == other)


def _join(path: str, key: str) -> str:
    return f"{path}/{key.replace('~', '~0').replace('/', '~1')}"


def _to_text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
