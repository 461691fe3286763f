"""Hooks in the client's settings.json, put in and taken out without touching another byte of the text.

The text is cut open at the place that matters; the rest is carried as it stands: order, spaces, line ends and all. What
comes out is parsed again and compared with what was wanted, so settings that are stranger than expected are refused,
not broken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

from turnlog.errors import TurnlogError

_DECODER = json.JSONDecoder()
_WHITE = re.compile("[ \\t\\r\\n]*")
_INDENT = re.compile(r"\A\s*\{[ \t]*\r?\n([ \t]+)\"")

Hook = dict[str, Any]
IsOurs = Callable[[str], bool]


class Extent(NamedTuple):
    """Where a value stands in a text."""

    start: int
    end: int


class Style(NamedTuple):
    """How a text is laid out."""

    newline: str
    """Empty: all on one line."""
    indent: str


def parsed(text: str) -> dict[str, Any]:
    """The settings; raises where they are no JSON, or hooks stand in them as the client would not have them."""
    if not text.strip():
        return {}
    try:
        found = json.loads(text, parse_constant=_refused)
    except json.JSONDecodeError as error:
        raise TurnlogError(f"line {error.lineno}: no JSON ({error.msg}); correct it first") from None
    except RecursionError:
        raise TurnlogError("nested too deep; nothing was changed") from None
    hooks = found.get("hooks", {}) if isinstance(found, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(groups, list) for groups in hooks.values()):
        raise TurnlogError("not shaped as the client's settings are; nothing was changed")
    return dict(found)


def _refused(name: str) -> NoReturn:
    raise TurnlogError(f"no JSON ({name} is no value); correct it first")


def hooks_of(settings: Mapping[str, Any], is_ours: IsOurs) -> Iterator[tuple[str, Hook]]:
    """Our hooks, each with its event."""
    for event, groups in settings.get("hooks", {}).items():
        for group in groups:
            yield from ((event, hook) for hook in _hooks(group) if is_ours(_command(hook)))


def with_hooks(text: str, hooks: Mapping[str, Hook]) -> str:
    """The settings with a hook for each event behind those that are there."""
    text = text if text.strip() else "{}\n"
    for event, hook in hooks.items():
        settings = parsed(text)
        there = settings.get("hooks", {})
        group = {"hooks": [hook]}
        wanted = {**settings, "hooks": {**there, event: [*there.get(event, []), group]}}
        text = _checked(_insert(text, event, group), wanted)
    return text


def without_hooks(text: str, is_ours: IsOurs) -> str:
    """The settings without our hooks, and without what is empty then."""
    settings = parsed(text)
    while (place := _first(settings, is_ours)) is not None:
        event, at, inner = place
        wanted = _reduced(settings, event, at, inner)
        text = _checked(_cut_out(text, settings, event, at, inner), wanted)
        settings = wanted
    return text


def _command(hook: object) -> str:
    found = hook.get("command") if isinstance(hook, dict) else None
    return found if isinstance(found, str) else ""


def _hooks(group: object) -> list[Hook]:
    found = group.get("hooks") if isinstance(group, dict) else None
    return found if isinstance(found, list) else []


def _first(settings: Mapping[str, Any], is_ours: IsOurs) -> tuple[str, int, int] | None:
    for event, groups in settings.get("hooks", {}).items():
        for at, group in enumerate(groups):
            for inner, hook in enumerate(_hooks(group)):
                if is_ours(_command(hook)):
                    return event, at, inner
    return None


def _reduced(settings: dict[str, Any], event: str, at: int, inner: int) -> dict[str, Any]:
    hooks = settings["hooks"]
    groups = list(hooks[event])
    rest = [hook for number, hook in enumerate(groups[at]["hooks"]) if number != inner]
    groups[at : at + 1] = [{**groups[at], "hooks": rest}] if rest else []
    others = {name: groups if name == event else value for name, value in hooks.items() if groups or name != event}
    return {name: others if name == "hooks" else value for name, value in settings.items() if others or name != "hooks"}


def _cut_out(text: str, settings: dict[str, Any], event: str, at: int, inner: int) -> str:
    """Take out the largest thing that holds nothing but our hook."""
    whole = Extent(_skip(text, 0), len(text.rstrip()))
    top = members(text, whole)
    events = members(text, top["hooks"])
    groups = settings["hooks"][event]
    if len(groups[at]["hooks"]) > 1:
        group = members(text, items(text, events[event])[at])
        return _cut(text, items(text, group["hooks"]), inner)
    if len(groups) > 1:
        return _cut(text, items(text, events[event]), at)
    if len(settings["hooks"]) > 1:
        return _cut(text, *_member(text, top["hooks"], event))
    return _cut(text, *_member(text, whole, "hooks"))


def _insert(text: str, event: str, group: Hook) -> str:
    """Put a group in at the innermost place that exists."""
    style = _style(text)
    whole = Extent(_skip(text, 0), len(text.rstrip()))
    top = members(text, whole)
    if "hooks" not in top:
        return _into(text, whole, '"hooks": ', {event: [group]}, style, 1)
    events = members(text, top["hooks"])
    if event not in events:
        return _into(text, top["hooks"], f"{json.dumps(event)}: ", [group], style, 2)
    return _into(text, events[event], "", group, style, 3)


def _style(text: str) -> Style:
    newline = "\r\n" if "\r\n" in text else "\n"
    found = _INDENT.match(text)
    is_flat = "\n" not in text.strip() and text.strip() != "{}"
    return Style("" if is_flat else newline, found[1] if found else "  ")


def _into(text: str, extent: Extent, key: str, value: Any, style: Style, depth: int) -> str:
    """Put a value at the end of an object or list, laid out as the others in it."""
    inside = text[extent.start + 1 : extent.end - 1]
    is_flat = not style.newline or ("\n" not in inside and bool(inside.strip()))
    if is_flat:
        comma = ", " if inside.strip() else ""
        return f"{text[: extent.start + 1]}{inside.rstrip()}{comma}{key}{json.dumps(value)}{text[extent.end - 1 :]}"
    white = _WHITE.match(inside)
    before, after = (style.newline + style.indent * level for level in (depth, depth - 1))
    if inside.strip() and white:
        before, after = white[0], inside[len(inside.rstrip()) :] or after
    written = json.dumps(value, indent=style.indent).replace("\n", before)
    comma = "," if inside.strip() else ""
    return f"{text[: extent.start + 1]}{inside.rstrip()}{comma}{before}{key}{written}{after}{text[extent.end - 1 :]}"


def _member(text: str, extent: Extent, key: str) -> tuple[list[Extent], int]:
    """The members of an object, each with its key, and the number of one of them; of two of a name the last counts."""
    found = _pairs(text, extent)
    names = [name for name, _, _ in found]
    return [Extent(start, value.end) for _, start, value in found], len(names) - 1 - names[::-1].index(key)


def _cut(text: str, extents: list[Extent], at: int) -> str:
    """Take one of several members out, with the comma that it no longer needs."""
    if at > 0:
        return text[: extents[at - 1].end] + text[extents[at].end :]
    if len(extents) > 1:
        return text[: extents[0].start] + text[extents[1].start :]
    return text[: extents[0].start].rstrip() + text[extents[0].end :].lstrip()


def _checked(text: str, wanted: dict[str, Any]) -> str:
    try:
        is_right = json.loads(text) == wanted
    except ValueError:
        is_right = False
    if not is_right:
        raise TurnlogError("not shaped as the client's settings are; nothing was changed, edit them by hand")
    return text


def members(text: str, extent: Extent) -> dict[str, Extent]:
    """Where the values of an object stand, by key."""
    return {key: value for key, _, value in _pairs(text, extent)}


def _pairs(text: str, extent: Extent) -> list[tuple[str, int, Extent]]:
    found, at = [], _skip(text, extent.start + 1)
    while text[at] != "}":
        key, after = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, after) + 1)  # behind the colon
        _, end = _DECODER.raw_decode(text, start)
        found.append((key, at, Extent(start, end)))
        at = _next(text, end)
    return found


def items(text: str, extent: Extent) -> list[Extent]:
    """Where the items of a list stand."""
    found, at = [], _skip(text, extent.start + 1)
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        found.append(Extent(at, end))
        at = _next(text, end)
    return found


def _next(text: str, end: int) -> int:
    at = _skip(text, end)
    return _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    found = _WHITE.match(text, at)
    return found.end() if found else at
