"""Converts the values that the API functions return to JSON documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET

_PLAIN_TYPES = (str, int, float)


def to_document(value: Any) -> Any:
    """Convert a value to the JSON that `--json` prints (docs/json.md).

    A Struct or a NamedTuple becomes an object whose keys are its fields, in order; a field that is `msgspec.UNSET` is
    left out. The tag of a tagged Struct, such as the name of an event, comes first. The fields that a type lists in
    `__flat_fields__` are replaced by their own keys. Paths, times and enum members become text.
    """
    # Not msgspec.to_builtins: it turns a NamedTuple into a list, and a number beyond 64 bits into an error.
    if value is None or isinstance(value, _PLAIN_TYPES):
        return _to_enum_value(value)
    if isinstance(value, dict):
        return {key: to_document(item) for key, item in value.items()}
    fields = _list_fields(value)
    if fields is not None:
        return dict(_iter_items(value, fields))
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_document(item) for item in value]
    return _to_text(value)


def _list_fields(value: Any) -> tuple[tuple[str, str], ...] | None:
    """List the key and the attribute of every field; return None if the value has no named fields."""
    kind = type(value)
    names = getattr(kind, "__struct_fields__", None)
    if names is not None:
        return tuple(zip(kind.__struct_encode_fields__, names, strict=True))
    names = getattr(kind, "_fields", None)
    return None if names is None else tuple((name, name) for name in names)


def _iter_items(value: Any, fields: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, Any]]:
    config = getattr(type(value), "__struct_config__", None)
    if config is not None and config.tag is not None:
        yield config.tag_field, config.tag
    flat = getattr(type(value), "__flat_fields__", ())
    for key, name in fields:
        item = getattr(value, name)
        if item is UNSET:
            continue
        document = to_document(item)
        if name not in flat:
            yield key, document
        elif document is not None:
            yield from document.items()


def _to_enum_value(value: Any) -> Any:
    return value if type(value) in (str, int, float, bool) else getattr(value, "value", value)


def _to_text(value: Any) -> Any:
    from datetime import datetime
    from enum import Enum

    if isinstance(value, datetime):
        from turnlog.session.clock import to_iso_time

        return to_iso_time(value)
    return to_document(value.value) if isinstance(value, Enum) else str(value)
