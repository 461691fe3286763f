"""Adds and removes hooks in Claude Code's settings.json without changing any other byte of the file.

Only the affected part is edited; the order, spacing and line endings of the rest are not changed. The result is parsed
again and compared with the settings that it should contain, so settings with an unexpected layout are refused rather
than broken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

from turnlog.errors import TurnlogError

_JSON_DECODER = json.JSONDecoder()
_WHITE_SPACE = re.compile("[ \\t\\r\\n]*")
_INDENT_PATTERN = re.compile(r"\A\s*\{[ \t]*\r?\n([ \t]+)\"")

HookSetting = dict[str, Any]
IsOurHook = Callable[[str], bool]


class JsonExtent(NamedTuple):
    start: int
    """The offset of the value's first character in the text."""
    end: int


class JsonStyle(NamedTuple):
    newline: str
    """Empty if everything is on one line."""
    indent: str


def parse_client_settings(text: str) -> dict[str, Any]:
    """Parse the settings; raise an error if they aren't JSON or if Claude Code couldn't read the hooks in them."""
    if not text.strip():
        return {}
    try:
        settings = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise TurnlogError(f"line {error.lineno}: not valid JSON ({error.msg}); correct the file first") from None
    except RecursionError:
        raise TurnlogError("the settings are nested too deeply; nothing was changed") from None
    hooks = settings.get("hooks", {}) if isinstance(settings, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(groups, list) for groups in hooks.values()):
        raise TurnlogError("not valid Claude Code settings; nothing was changed")
    return dict(settings)


def _refuse_constant(name: str) -> NoReturn:
    raise TurnlogError(f"not valid JSON ({name} is not a JSON value); correct the file first")


def iter_our_hooks(settings: Mapping[str, Any], is_ours: IsOurHook) -> Iterator[tuple[str, HookSetting]]:
    """Yield turnlog's hooks, each with its event."""
    for event, groups in settings.get("hooks", {}).items():
        for group in groups:
            yield from ((event, hook) for hook in _list_group_hooks(group) if is_ours(_get_command(hook)))


def add_client_hooks(text: str, hooks: Mapping[str, HookSetting]) -> str:
    """Return the settings with a hook added for each event, after the existing ones."""
    text = text if text.strip() else "{}\n"
    for event, hook in hooks.items():
        settings = parse_client_settings(text)
        present = settings.get("hooks", {})
        group = {"hooks": [hook]}
        wanted = {**settings, "hooks": {**present, event: [*present.get(event, []), group]}}
        text = check_edited_settings(_insert_group(text, event, group), wanted)
    return text


def remove_client_hooks(text: str, is_ours: IsOurHook) -> str:
    """Return the settings without turnlog's hooks, and without lists and objects that become empty as a result."""
    settings = parse_client_settings(text)
    while (place := _find_first_hook(settings, is_ours)) is not None:
        event, at, inner = place
        wanted = _drop_hook(settings, event, at, inner)
        text = check_edited_settings(_cut_hook_out(text, settings, event, at, inner), wanted)
        settings = wanted
    return text


def _get_command(hook: object) -> str:
    command = hook.get("command") if isinstance(hook, dict) else None
    return command if isinstance(command, str) else ""


def _list_group_hooks(group: object) -> list[HookSetting]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return hooks if isinstance(hooks, list) else []


def _find_first_hook(settings: Mapping[str, Any], is_ours: IsOurHook) -> tuple[str, int, int] | None:
    for event, groups in settings.get("hooks", {}).items():
        for at, group in enumerate(groups):
            for inner, hook in enumerate(_list_group_hooks(group)):
                if is_ours(_get_command(hook)):
                    return event, at, inner
    return None


def _drop_hook(settings: dict[str, Any], event: str, at: int, inner: int) -> dict[str, Any]:
    hooks = settings["hooks"]
    groups = list(hooks[event])
    rest = [hook for number, hook in enumerate(groups[at]["hooks"]) if number != inner]
    groups[at : at + 1] = [{**groups[at], "hooks": rest}] if rest else []
    others = {name: groups if name == event else value for name, value in hooks.items() if groups or name != event}
    return {name: others if name == "hooks" else value for name, value in settings.items() if others or name != "hooks"}


def _cut_hook_out(text: str, settings: dict[str, Any], event: str, at: int, inner: int) -> str:
    """Remove the largest value that contains nothing but turnlog's hook."""
    whole = JsonExtent(skip_white_space(text, 0), len(text.rstrip()))
    top = locate_object_values(text, whole)
    events = locate_object_values(text, top["hooks"])
    groups = settings["hooks"][event]
    if len(groups[at]["hooks"]) > 1:
        group = locate_object_values(text, locate_list_items(text, events[event])[at])
        return cut_json_member(text, locate_list_items(text, group["hooks"]), inner)
    if len(groups) > 1:
        return cut_json_member(text, locate_list_items(text, events[event]), at)
    if len(settings["hooks"]) > 1:
        return cut_json_member(text, *find_json_member(text, top["hooks"], event))
    return cut_json_member(text, *find_json_member(text, whole, "hooks"))


def _insert_group(text: str, event: str, group: HookSetting) -> str:
    """Insert a group at the innermost level that exists."""
    style = detect_json_style(text)
    whole = JsonExtent(skip_white_space(text, 0), len(text.rstrip()))
    top = locate_object_values(text, whole)
    if "hooks" not in top:
        return insert_json_value(text, whole, '"hooks": ', {event: [group]}, style, 1)
    events = locate_object_values(text, top["hooks"])
    if event not in events:
        return insert_json_value(text, top["hooks"], f"{json.dumps(event)}: ", [group], style, 2)
    return insert_json_value(text, events[event], "", group, style, 3)


def detect_json_style(text: str) -> JsonStyle:
    """Find out how a document is laid out."""
    newline = "\r\n" if "\r\n" in text else "\n"
    indent = _INDENT_PATTERN.match(text)
    is_flat = "\n" not in text.strip() and text.strip() != "{}"
    return JsonStyle("" if is_flat else newline, indent[1] if indent else "  ")


def insert_json_value(text: str, extent: JsonExtent, key: str, value: Any, style: JsonStyle, depth: int) -> str:
    """Append a value to an object or list, using the layout of its other members."""
    inside = text[extent.start + 1 : extent.end - 1]
    is_flat = not style.newline or ("\n" not in inside and bool(inside.strip()))
    if is_flat:
        comma = ", " if inside.strip() else ""
        return f"{text[: extent.start + 1]}{inside.rstrip()}{comma}{key}{json.dumps(value)}{text[extent.end - 1 :]}"
    white = _WHITE_SPACE.match(inside)
    before, after = (style.newline + style.indent * level for level in (depth, depth - 1))
    if inside.strip() and white:
        before, after = white[0], inside[len(inside.rstrip()) :] or after
    encoded = json.dumps(value, indent=style.indent).replace("\n", before)
    comma = "," if inside.strip() else ""
    return f"{text[: extent.start + 1]}{inside.rstrip()}{comma}{before}{key}{encoded}{after}{text[extent.end - 1 :]}"


def find_json_member(text: str, extent: JsonExtent, key: str) -> tuple[list[JsonExtent], int]:
    """Return the members of an object, including keys, and the index of the last one named `key`."""
    pairs = _locate_pairs(text, extent)
    names = [name for name, _, _ in pairs]
    return [JsonExtent(start, value.end) for _, start, value in pairs], len(names) - 1 - names[::-1].index(key)


def cut_json_member(text: str, extents: list[JsonExtent], at: int) -> str:
    """Remove one member, with the comma that is no longer needed."""
    if at > 0:
        return text[: extents[at - 1].end] + text[extents[at].end :]
    if len(extents) > 1:
        return text[: extents[0].start] + text[extents[1].start :]
    return text[: extents[0].start].rstrip() + text[extents[0].end :].lstrip()


def check_edited_settings(text: str, wanted: dict[str, Any]) -> str:
    """Return edited settings if they contain what they should."""
    try:
        is_right = json.loads(text) == wanted
    except ValueError:
        is_right = False
    if not is_right:
        raise TurnlogError("can't edit these settings safely, so nothing was changed; edit the file by hand")
    return text


def locate_object_values(text: str, extent: JsonExtent) -> dict[str, JsonExtent]:
    """Find the extents of an object's values, by key."""
    return {key: value for key, _, value in _locate_pairs(text, extent)}


def _locate_pairs(text: str, extent: JsonExtent) -> list[tuple[str, int, JsonExtent]]:
    pairs, at = [], skip_white_space(text, extent.start + 1)
    while text[at] != "}":
        key, after = _JSON_DECODER.raw_decode(text, at)
        start = skip_white_space(text, skip_white_space(text, after) + 1)  # after the colon
        _, end = _JSON_DECODER.raw_decode(text, start)
        pairs.append((key, at, JsonExtent(start, end)))
        at = _find_next_value(text, end)
    return pairs


def locate_list_items(text: str, extent: JsonExtent) -> list[JsonExtent]:
    """Find the extents of a list's items."""
    items, at = [], skip_white_space(text, extent.start + 1)
    while text[at] != "]":
        _, end = _JSON_DECODER.raw_decode(text, at)
        items.append(JsonExtent(at, end))
        at = _find_next_value(text, end)
    return items


def _find_next_value(text: str, end: int) -> int:
    at = skip_white_space(text, end)
    return skip_white_space(text, at + 1) if text[at] == "," else at


def skip_white_space(text: str, at: int) -> int:
    """Return the position of the next character that is not white space."""
    white = _WHITE_SPACE.match(text, at)
    return white.end() if white else at
