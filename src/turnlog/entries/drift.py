"""What is new in a file: types, fields and values that the registry (`entries.types`) does not know.

The format grows every few weeks. News is no error: everything unknown is kept and shown; here it is named and
counted, so that a person sees what this version of turnlog has not heard of. What is known is read off the
classes.
"""

from __future__ import annotations

import types as python
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

import msgspec

from turnlog.entries.types import ATTACHMENTS, BLOCKS, PROGRESS, Part, class_of
from turnlog.entries.types.part import Holds, Known

LIMIT = 1000
"""So many different unknowns are named, so that a hostile file costs no memory; the rest is counted."""

_LONGEST = 120
_DEEPEST = 8  # Blocks hold blocks: a result holds texts. Deeper is nonsense, and may be endless.
_NAMELESS = "(no type)"
_HELD = {
    "blocks": ("block", BLOCKS),
    "attachment": ("attachment", ATTACHMENTS),
    "progress": ("progress", PROGRESS),
}


class Unknown(msgspec.Struct):
    """Something that the registry does not know."""

    kind: str
    """`type`, `subtype`, `attachment`, `progress`, `block`, `field` or `value`."""
    path: str
    """Where and what: `system/new`, `assistant.message.usage.new`, `queue-operation.operation = "new"`."""
    count: int = 0
    version: str | None = None
    """The first version of the client that wrote it in this file."""
    place: int | None = None
    """Where it stands first, as the caller counts: a line, an offset or an index."""


class Inside(NamedTuple):
    """Marks a field that holds objects of a class."""

    cls: type[Part]
    many: bool
    """Whether they are the values of a map, not the object itself or the items of a list."""


Look = Inside | Holds | Known


class Shape(NamedTuple):
    """What a class says about an object."""

    names: frozenset[str]
    inner: tuple[tuple[str, Look], ...]
    """The fields to look into."""


class Drift:
    """Collects what is unknown, entry by entry."""

    def __init__(self) -> None:
        self.unknown: dict[str, Unknown] = {}
        """By path, in the order they were met."""
        self.unnamed = 0
        """How many were met after LIMIT different ones."""
        self._version: str | None = None
        self._place: int | None = None

    def add(self, body: dict[str, Any], version: str | None = None, place: int | None = None) -> None:
        """Look at one decoded entry. Without a version, that of the entries before holds."""
        self._version = version or self._version
        self._place = place
        name, cls = _name(body), class_of(body)
        if cls is not None:
            self._object(name, body, shape(cls))
        elif name.startswith("system/"):
            self._count("subtype", name)
        else:
            self._count("type", name)

    def __iter__(self) -> Iterator[Unknown]:
        return iter(self.unknown.values())

    def __bool__(self) -> bool:
        return bool(self.unknown)

    def _object(self, path: str, body: dict[str, Any], known: Shape, depth: int = 0) -> None:
        if not known.names.issuperset(body):
            for name in sorted(body.keys() - known.names):
                self._count("field", f"{path}.{name}")
        for name, inside in known.inner:
            value = body.get(name)
            if isinstance(inside, Known):
                if isinstance(value, str) and value not in inside.values:
                    self._count("value", f'{path}.{name} = "{value}"')
            elif isinstance(inside, Holds):
                self._held(value, inside.what, depth)
            else:
                for part in _objects(value, inside.many):
                    self._object(f"{path}.{name}", part, shape(inside.cls), depth)

    def _held(self, value: Any, what: str, depth: int) -> None:
        label, classes = _HELD[what]
        for part in value if isinstance(value, list) else (value,):
            if not isinstance(part, dict):
                continue
            tag = part.get("type")
            path = f"{label}/{tag if isinstance(tag, str) else _NAMELESS}"
            cls = classes.get(tag) if isinstance(tag, str) else None
            if cls is None:
                self._count(label, path)
            elif depth < _DEEPEST:
                self._object(path, part, shape(cls), depth + 1)

    def _count(self, kind: str, path: str) -> None:
        path = path[:_LONGEST]
        found = self.unknown.get(path)
        if found is None:
            if len(self.unknown) >= LIMIT:
                self.unnamed += 1
                return
            found = self.unknown[path] = Unknown(kind, path, 0, self._version, self._place)
        found.count += 1


@cache
def shape(cls: type[Part]) -> Shape:
    """The names of an object's fields, and which of them to look into."""
    config = cls.__struct_config__
    names = set(cls.__struct_encode_fields__)
    if config.tag_field is not None:
        names.add(config.tag_field)
    looks = ((field.encode_name, _look(field.type)) for field in msgspec.structs.fields(cls))
    return Shape(frozenset(names), tuple((name, look) for name, look in looks if look is not None))


def _look(hint: Any, many: bool = False) -> Look | None:
    origin = get_origin(hint)
    if origin is Annotated:
        mark: Look = get_args(hint)[1].extra["mark"]
        return mark
    if origin in (Union, python.UnionType, list, dict):
        looks = (_look(part, many or origin is dict) for part in get_args(hint))
        return next((look for look in looks if look is not None), None)
    return Inside(hint, many) if isinstance(hint, type) and issubclass(hint, Part) else None


def _objects(value: Any, many: bool) -> Iterator[dict[str, Any]]:
    if many and isinstance(value, dict):
        value = list(value.values())
    for part in value if isinstance(value, list) else (value,):
        if isinstance(part, dict):
            yield part


def _name(body: dict[str, Any]) -> str:
    kind, subtype = body.get("type"), body.get("subtype")
    name = kind if isinstance(kind, str) else _NAMELESS
    if name != "system" or subtype is None:
        return name
    return f"system/{subtype if isinstance(subtype, str) else _NAMELESS}"
