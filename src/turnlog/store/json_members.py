"""Sets and removes one member of a JSON document without changing any other byte of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from turnlog.errors import TurnlogError
from turnlog.store.client_settings import (
    JsonExtent,
    check_edited_settings,
    cut_json_member,
    detect_json_style,
    find_json_member,
    insert_json_value,
    locate_object_values,
    parse_client_settings,
    skip_white_space,
)


def set_json_member(text: str, keys: Sequence[str], value: Any) -> str:
    """Return the document with a member set, in objects that are created if they don't exist."""
    text = text if text.strip() else "{}\n"
    document = parse_client_settings(text)
    is_present = _has_member(document, keys)
    wanted = _set_value(document, keys, value)
    if is_present:
        text = _cut_out(text, keys)
    extent = JsonExtent(skip_white_space(text, 0), len(text.rstrip()))
    depth = 0
    while depth < len(keys) - 1 and keys[depth] in (members := locate_object_values(text, extent)):
        extent, depth = members[keys[depth]], depth + 1
    for key in reversed(keys[depth + 1 :]):
        value = {key: value}
    edited = insert_json_value(text, extent, f"{json.dumps(keys[depth])}: ", value, detect_json_style(text), depth + 1)
    return check_edited_settings(edited, wanted)


def remove_json_member(text: str, keys: Sequence[str]) -> str:
    """Return the document without a member, and without the object that contained it if that is empty now."""
    document = parse_client_settings(text)
    if not _has_member(document, keys):
        return text
    parent: Any = document
    for key in keys[:-1]:
        parent = parent[key]
    if len(parent) == 1 and len(keys) > 1:
        keys = keys[:-1]
    return check_edited_settings(_cut_out(text, keys), _drop_value(document, keys))


def read_json_member(document: Any, keys: Sequence[str]) -> Any:
    """Return a member, or None; raise an error if something else than an object is in the way."""
    for depth, key in enumerate(keys):
        if document is None:
            return None
        if not isinstance(document, dict):
            raise TurnlogError(f"{'.'.join(keys[:depth])} is not an object; correct the file first")
        document = document.get(key)
    return document


def _has_member(document: Any, keys: Sequence[str]) -> bool:
    """Return whether there is such a member; raise an error if something else than an object is in the way."""
    for depth, key in enumerate(keys):
        if not isinstance(document, dict):
            raise TurnlogError(f"{'.'.join(keys[:depth])} is not an object; correct the file first")
        if key not in document:
            return False
        document = document[key]
    return True


def _cut_out(text: str, keys: Sequence[str]) -> str:
    extent = JsonExtent(skip_white_space(text, 0), len(text.rstrip()))
    for key in keys[:-1]:
        extent = locate_object_values(text, extent)[key]
    return cut_json_member(text, *find_json_member(text, extent, keys[-1]))


def _set_value(document: dict[str, Any], keys: Sequence[str], value: Any) -> dict[str, Any]:
    inner = value if len(keys) == 1 else _set_value(document.get(keys[0]) or {}, keys[1:], value)
    return {**document, keys[0]: inner}


def _drop_value(document: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    if len(keys) == 1:
        return {name: value for name, value in document.items() if name != keys[0]}
    return {**document, keys[0]: _drop_value(document[keys[0]], keys[1:])}
