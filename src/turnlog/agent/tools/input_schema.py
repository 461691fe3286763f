"""Validates tool inputs against their schemas.

The messages are the same as Claude Code's, because models are familiar with them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from turnlog.agent.tools.call_result import CallResult, Object, RejectedCall

_InputPath = tuple[str | int, ...]
"""The path to a part of an input: names and list positions."""
_NUMBER_PATTERN = re.compile(r"-?\d+(\.\d+)?")
_URI_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S")
_CAPITAL_PATTERN = re.compile("([A-Z])")
_MISSING_VALUE = object()
_JSON_TYPES = {str: "string", bool: "boolean", int: "number", float: "number", list: "array", type(None): "null"}


class InvalidInput(RejectedCall):
    """An input that does not match the schema."""

    def __init__(self, message: str, issues: str) -> None:
        super().__init__(f"InputValidationError: {message}")
        self.issues = issues

    @classmethod
    def from_details(cls, *details: Object) -> InvalidInput:
        """Build the error from raw issues, without sentences for the model."""
        text = json.dumps(details, indent=2, ensure_ascii=False)
        return cls(text, text)

    def to_result(self) -> CallResult:
        """Convert the error into a result that records the issues in full."""
        return super().to_result()._replace(structured=f"InputValidationError: {self.issues}")


class InputIssue(NamedTuple):
    rank: int
    """The sort order: missing parameters, then unexpected ones, then wrong types, then wrong values."""
    sentences: Sequence[str]
    detail: Object


def validate_input(name: str, schema: Object, arguments: object) -> dict[str, Any]:
    """Return a call's input with the types that the schema requires, or raise InvalidInput.

    Numbers, booleans and lists that arrive as strings are converted.
    """
    value = _coerce_value(schema, arguments)
    issues = list(_find_issues(schema, value, ()))
    if issues:
        raise _build_invalid_input(name, issues)
    return dict(value)


def _coerce_value(schema: Object, value: Any) -> Any:
    expected = schema.get("type")
    if isinstance(value, str) and expected != "string":
        value = _coerce_text(expected, value)
    if expected == "array" and isinstance(value, list):
        return [_coerce_value(schema.get("items", {}), item) for item in value]
    if expected == "object" and isinstance(value, Mapping):
        properties = schema.get("properties", {})
        return {key: _coerce_value(properties.get(key, {}), item) for key, item in value.items()}
    return value


def _coerce_text(expected: object, value: str) -> Any:
    if expected == "boolean":
        return {"true": True, "false": False}.get(value, value)
    if expected == "number" and _NUMBER_PATTERN.fullmatch(value) and len(value) < 20:
        return float(value) if "." in value else int(value)
    if expected in ("array", "object"):
        try:
            parsed = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return parsed if isinstance(parsed, (list, dict)) else value
    return value


def _find_issues(schema: Object, value: Any, path: _InputPath) -> Iterator[InputIssue]:
    expected, choices = schema.get("type"), schema.get("enum")
    kind = "object" if isinstance(value, Mapping) else _JSON_TYPES.get(type(value), "undefined")
    if choices and value not in choices:  # also if it is missing
        options = "|".join(json.dumps(option) for option in choices)
        yield _build_invalid_issue(
            path, f"Invalid option: expected one of {options}", code="invalid_value", values=choices
        )
    elif expected and kind != expected:
        yield _build_type_issue(expected, kind, path)
    elif expected == "object":
        yield from _find_object_issues(schema, value, path)
    elif expected == "array":
        for at, item in enumerate(value):
            yield from _find_issues(schema.get("items", {}), item, (*path, at))
        yield from _find_size_issues(
            "array", "items", len(value), schema.get("minItems", 0), schema.get("maxItems"), path
        )
    elif expected == "string":
        yield from _find_size_issues("string", "characters", len(value), schema.get("minLength", 0), None, path)
        if schema.get("format") == "uri" and not _URI_PATTERN.match(value):
            yield _build_invalid_issue(path, "Invalid URL", code="invalid_format", format="url")


def _find_object_issues(schema: Object, value: Object, path: _InputPath) -> Iterator[InputIssue]:
    properties = schema.get("properties", {})
    for key, inner in properties.items():
        if key in value or key in schema.get("required", ()):
            yield from _find_issues(inner, value.get(key, _MISSING_VALUE), (*path, key))
    extra = [key for key in value if key not in properties]
    if extra and schema.get("additionalProperties") is False:
        quoted = ", ".join(json.dumps(key, ensure_ascii=False) for key in extra)
        message = f"Unrecognized key{'s' if len(extra) > 1 else ''}: {quoted}"
        sentences = [f"An unexpected parameter `{key}` was provided" for key in extra]
        yield InputIssue(1, sentences, {"code": "unrecognized_keys", "keys": extra, "path": path, "message": message})


def _find_size_issues(
    kind: str, unit: str, size: int, least: int, most: int | None, path: _InputPath
) -> Iterator[InputIssue]:
    if size < least:
        message = f"Too small: expected {kind} to have >={least} {unit}"
        if kind == "string" and least == 1:
            message = _CAPITAL_PATTERN.sub(r" \1", str(path[-1])).capitalize() + " cannot be empty"
        yield _build_invalid_issue(path, message, origin=kind, code="too_small", minimum=least, inclusive=True)
    elif most is not None and size > most:
        message = f"Too big: expected {kind} to have <={most} {unit}"
        yield _build_invalid_issue(path, message, origin=kind, code="too_big", maximum=most, inclusive=True)


def _build_type_issue(expected: str, kind: str, path: _InputPath) -> InputIssue:
    is_missing, name = kind == "undefined", _format_path(path)
    sentence = f"The parameter `{name}` type is expected as `{expected}` but provided as `{kind}`"
    if is_missing:
        sentence = f"The required parameter `{name}` is missing"
    message = f"Invalid input: expected {expected}, received {kind}"
    detail = {"expected": expected, "code": "invalid_type", "path": path, "message": message}
    return InputIssue(0 if is_missing else 2, [sentence], detail)


def _build_invalid_issue(path: _InputPath, message: str, **detail: Any) -> InputIssue:
    sentence = f"The parameter `{_format_path(path)}` is invalid: {message}"
    return InputIssue(3, [sentence], {**detail, "path": path, "message": message})


def _build_invalid_input(name: str, issues: Sequence[InputIssue]) -> InvalidInput:
    error = InvalidInput.from_details(*(issue.detail for issue in issues))
    if all(issue.rank == 3 for issue in issues):  # Claude Code has no sentences for these alone
        return error
    sentences = [sentence for issue in sorted(issues, key=lambda issue: issue.rank) for sentence in issue.sentences]
    text = "\n".join(sentences)
    return InvalidInput(f"{name} failed due to the following issue{'s' * (len(sentences) > 1)}:\n{text}", error.issues)


def _format_path(path: _InputPath) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
