"""Hooks in the client's settings.json, put in and taken out without touching another byte of the file.

The text is cut open at the place that matters; the rest is carried as it stands, spaces, order and all. What comes
out is parsed again and compared with what was wanted, so a file that is stranger than expected is refused, not broken.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from turnlog.errors import TurnlogError

EVENTS = ("SessionEnd", "PreCompact")
_DECODER = json.JSONDecoder()
_WHITE = re.compile("[ \\t\\r\\n]*")


class Span(NamedTuple):
    """Where a value stands in a text."""

    start: int
    end: int


def with_hooks(text: str, command: str) -> str:
    """The settings with our hooks behind those that are there; unchanged where they are there already."""
    text = text if text.strip() else "{}\n"
    for event in EVENTS:
        settings = _parsed(text)
        if _ours(settings, event, command):
            continue
        wanted = _added(settings, event, command)
        text = _checked(_insert(text, event, command), wanted)
    return text


def without_hooks(text: str, mark: str) -> str:
    """The settings without hooks whose command has the mark; unchanged if there are none."""
    settings = _parsed(text) if text.strip() else {}
    for event in EVENTS:
        while (at := _first(settings, event, mark)) is not None:
            text, settings = _taken_out(text, settings, event, at)
    return text


def group(command: str) -> dict[str, Any]:
    """One hook as the client's settings spell it."""
    return {"hooks": [{"type": "command", "command": command}]}


def _parsed(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise TurnlogError(f"the settings are no JSON ({error}); correct them first") from None
    hooks = found.get("hooks", {}) if isinstance(found, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(hooks.get(event, []), list) for event in EVENTS):
        raise TurnlogError("the settings are not shaped as expected; nothing was changed")
    return dict(found)


def _ours(settings: dict[str, Any], event: str, command: str) -> bool:
    return group(command) in settings.get("hooks", {}).get(event, [])


def _added(settings: dict[str, Any], event: str, command: str) -> dict[str, Any]:
    hooks = settings.get("hooks", {})
    return {**settings, "hooks": {**hooks, event: [*hooks.get(event, []), group(command)]}}


def _first(settings: dict[str, Any], event: str, mark: str) -> int | None:
    groups = settings.get("hooks", {}).get(event, [])
    for at, item in enumerate(groups):
        hooks = item.get("hooks") if isinstance(item, dict) else None
        if isinstance(hooks, list) and len(hooks) == 1 and mark in str(_get(hooks[0], "command")):
            return at
    return None


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _insert(text: str, event: str, command: str) -> str:
    """Put the hook in at the innermost place that exists."""
    whole = Span(_skip(text, 0), len(text.rstrip()))
    new: Any = group(command)
    top = members(text, whole)
    if "hooks" not in top:
        return _into(text, whole, f'"hooks": {_written({event: [new]}, 1)}', bool(top), 1)
    hooks = members(text, top["hooks"])
    if event not in hooks:
        return _into(text, top["hooks"], f'"{event}": {_written([new], 2)}', bool(hooks), 2)
    return _into(text, hooks[event], _written(new, 3), bool(items(text, hooks[event])), 3)


def _into(text: str, span: Span, member: str, has_others: bool, depth: int) -> str:
    """Put a member at the end of an object or list, on a line of its own."""
    inside = text[span.start + 1 : span.end - 1]
    head = text[: span.start + 1] + inside.rstrip()
    comma = "," if has_others else ""
    return f"{head}{comma}\n{'  ' * depth}{member}\n{'  ' * (depth - 1)}{text[span.end - 1 :]}"


def _written(value: Any, depth: int) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", "\n" + "  " * depth)


def _taken_out(text: str, settings: dict[str, Any], event: str, at: int) -> tuple[str, dict[str, Any]]:
    """Take one hook out, and the list and object around it if nothing else is in them."""
    hooks = settings["hooks"]
    rest = [item for number, item in enumerate(hooks[event]) if number != at]
    whole = Span(_skip(text, 0), len(text.rstrip()))
    top = members(text, whole)
    inner = members(text, top["hooks"])
    if rest:
        wanted = {**settings, "hooks": {**hooks, event: rest}}
        out = _cut(text, list(items(text, inner[event])), at)
    elif len(hooks) > 1:
        wanted = {**settings, "hooks": {name: value for name, value in hooks.items() if name != event}}
        out = _cut(text, *_member(text, top["hooks"], event))
    else:
        wanted = {name: value for name, value in settings.items() if name != "hooks"}
        out = _cut(text, *_member(text, whole, "hooks"))
    return _checked(out, wanted), wanted


def _member(text: str, span: Span, key: str) -> tuple[list[Span], int]:
    """The members of an object, each with its key, and the number of one of them."""
    found = list(_pairs(text, span))
    return [Span(start, value.end) for _, start, value in found], [name for name, _, _ in found].index(key)


def _cut(text: str, spans: list[Span], at: int) -> str:
    """Take one of several members out, with the comma that it no longer needs."""
    if at > 0:
        return text[: spans[at - 1].end] + text[spans[at].end :]
    if len(spans) > 1:
        return text[: spans[0].start] + text[spans[1].start :]
    return text[: spans[0].start].rstrip() + text[spans[0].end :].lstrip()


def _checked(text: str, wanted: dict[str, Any]) -> str:
    try:
        is_right = json.loads(text) == wanted
    except ValueError:
        is_right = False
    if not is_right:
        raise TurnlogError("the settings are not shaped as expected; nothing was changed, edit them by hand")
    return text


def members(text: str, span: Span) -> dict[str, Span]:
    """Where the values of an object stand, by key."""
    return {key: value for key, _, value in _pairs(text, span)}


def _pairs(text: str, span: Span) -> list[tuple[str, int, Span]]:
    found, at = [], _skip(text, span.start + 1)
    while text[at] != "}":
        key, after = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, after) + 1)  # behind the colon
        _, end = _DECODER.raw_decode(text, start)
        found.append((key, at, Span(start, end)))
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
    return found


def items(text: str, span: Span) -> list[Span]:
    """Where the items of a list stand."""
    found, at = [], _skip(text, span.start + 1)
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        found.append(Span(at, end))
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
    return found


def _skip(text: str, at: int) -> int:
    found = _WHITE.match(text, at)
    return found.end() if found else at
