"""Inputs of tools: writing down what a tool wants, and seeing that a call gives it.

The complaints are worded as Claude Code words them; models know these sentences.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from turnlog.agent.tools.tool import Object, Result, Unfit

_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_JSON_TYPES = {str: "string", bool: "boolean", int: "number", float: "number", list: "array", type(None): "null"}


def text(description: str, choices: Sequence[str] = (), *, filled: bool = False) -> Object:
    """A parameter that is a string, perhaps one of a few, perhaps not empty."""
    schema: dict[str, Any] = {"type": "string", "description": description}
    if choices:
        schema["enum"] = list(choices)
    if filled:
        schema["minLength"] = 1
    return schema


def number(description: str) -> Object:
    """A parameter that is a number."""
    return {"type": "number", "description": description}


def flag(description: str) -> Object:
    """A parameter that is true or false."""
    return {"type": "boolean", "description": description}


def parameters(properties: Object, required: Sequence[str]) -> Object:
    """The input of a tool: these parameters and no others."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


class InvalidInput(Unfit):
    """An input that does not fit the schema."""

    def __init__(self, message: str, issues: str) -> None:
        super().__init__(f"InputValidationError: {message}")
        self.issues = issues

    def result(self) -> Result:
        """The same; what is recorded are the issues in full."""
        return super().result()._replace(structured=f"InputValidationError: {self.issues}")


class Issue(NamedTuple):
    """One thing that is wrong with an input."""

    rank: int
    """Missing parameters are told first, then unexpected ones, then wrong types, then wrong values."""
    sentences: Sequence[str]
    detail: Object


def checked(name: str, schema: Object, given: object) -> dict[str, Any]:
    """Give the input of a call as the schema wants it, or raise InvalidInput.

    What is meant is taken: a number, a truth value or a list that came as a string.
    """
    value = _meant(schema, given)
    issues = list(_issues(schema, value, ()))
    if issues:
        raise _complaint(name, issues)
    return dict(value)


def _meant(schema: Object, value: Any) -> Any:
    wanted = schema.get("type")
    if isinstance(value, str) and wanted != "string":
        value = _unquoted(wanted, value)
    if wanted == "array" and isinstance(value, list):
        return [_meant(schema.get("items", {}), item) for item in value]
    if wanted == "object" and isinstance(value, Mapping):
        properties = schema.get("properties", {})
        return {key: _meant(properties.get(key, {}), item) for key, item in value.items()}
    return value


def _unquoted(wanted: object, value: str) -> Any:
    if wanted == "boolean":
        return {"true": True, "false": False}.get(value, value)
    if wanted == "number" and _NUMBER.fullmatch(value) and len(value) < 20:
        return float(value) if "." in value else int(value)
    if wanted in ("array", "object"):
        try:
            parsed = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return parsed if isinstance(parsed, (list, dict)) else value
    return value


def _issues(schema: Object, value: Any, path: tuple[str | int, ...]) -> Iterator[Issue]:
    wanted = schema.get("type")
    kind = _kind(value)
    if wanted and kind != wanted:
        yield _wrong_type(wanted, kind, path)
    elif wanted == "object":
        yield from _object_issues(schema, value, path)
    elif wanted == "array":
        for at, item in enumerate(value):
            yield from _issues(schema.get("items", {}), item, (*path, at))
    elif "enum" in schema and value not in schema["enum"]:
        options = "|".join(json.dumps(option) for option in schema["enum"])
        yield _invalid({"code": "invalid_value", "values": schema["enum"]}, f"expected one of {options}", path)
    elif wanted == "string" and not value and schema.get("minLength"):
        detail = {"origin": "string", "code": "too_small", "minimum": 1, "inclusive": True}
        yield _invalid(detail, "cannot be empty", path)


def _object_issues(schema: Object, value: Object, path: tuple[str | int, ...]) -> Iterator[Issue]:
    properties = schema.get("properties", {})
    for key, inner in properties.items():
        if key in value:
            yield from _issues(inner, value[key], (*path, key))
        elif key in schema.get("required", ()):
            yield _missing(inner, (*path, key))
    extra = [key for key in value if key not in properties]
    if extra and schema.get("additionalProperties") is False:
        quoted = ", ".join(json.dumps(key, ensure_ascii=False) for key in extra)
        message = f"Unrecognized key{'s' if len(extra) > 1 else ''}: {quoted}"
        sentences = [f"An unexpected parameter `{key}` was provided" for key in extra]
        detail = {"code": "unrecognized_keys", "keys": extra, "path": list(path), "message": message}
        yield Issue(1, sentences, detail)


def _missing(schema: Object, path: tuple[str | int, ...]) -> Issue:
    wanted = schema.get("type", "value")
    return Issue(0, [f"The required parameter `{_spelled(path)}` is missing"], _type_detail(wanted, "undefined", path))


def _wrong_type(wanted: str, kind: str, path: tuple[str | int, ...]) -> Issue:
    sentence = f"The parameter `{_spelled(path)}` type is expected as `{wanted}` but provided as `{kind}`"
    return Issue(2, [sentence], _type_detail(wanted, kind, path))


def _type_detail(wanted: str, kind: str, path: tuple[str | int, ...]) -> Object:
    message = f"Invalid input: expected {wanted}, received {kind}"
    return {"expected": wanted, "code": "invalid_type", "path": list(path), "message": message}


def _invalid(detail: Object, why: str, path: tuple[str | int, ...]) -> Issue:
    sentence = f"The parameter `{_spelled(path)}` is invalid: Invalid option: {why}"
    return Issue(3, [sentence], {**detail, "path": list(path), "message": f"Invalid option: {why}"})


def _complaint(name: str, issues: Sequence[Issue]) -> InvalidInput:
    details = json.dumps([issue.detail for issue in issues], indent=2, ensure_ascii=False)
    if all(issue.rank == 3 for issue in issues):  # the real client has no sentences for these alone
        return InvalidInput(details, details)
    sentences = [sentence for issue in sorted(issues, key=lambda issue: issue.rank) for sentence in issue.sentences]
    plural = "s" if len(sentences) > 1 else ""
    told = "\n".join(sentences)
    return InvalidInput(f"{name} failed due to the following issue{plural}:\n{told}", details)


def _spelled(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def _kind(value: Any) -> str:
    return "object" if isinstance(value, Mapping) else _JSON_TYPES.get(type(value), "undefined")
