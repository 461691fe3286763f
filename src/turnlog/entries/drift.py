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

from turnlog.entries.types import ATTACHMENT_CLASSES, BLOCK_CLASSES, PROGRESS_CLASSES, FormatObject, find_entry_class
from turnlog.entries.types.base import KindMark, ValuesMark

MAX_UNKNOWN_ITEMS = 1000
"""So many different unknowns are named, so that a hostile file costs no memory; the rest is counted."""

_MAX_PATH_CHARS = 120
_MAX_NESTING = 8  # Blocks hold blocks: a result holds texts. Deeper is nonsense, and may be endless.
_NO_TYPE_NAME = "(no type)"
_CLASSES_BY_KIND = {
    "blocks": ("block", BLOCK_CLASSES),
    "attachment": ("attachment", ATTACHMENT_CLASSES),
    "progress": ("progress", PROGRESS_CLASSES),
}


class UnknownItem(msgspec.Struct):
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


class ClassMark(NamedTuple):
    """Marks a field that holds objects of a class."""

    cls: type[FormatObject]
    many: bool
    """Whether they are the values of a map, not the object itself or the items of a list."""


FieldMark = ClassMark | KindMark | ValuesMark


class ObjectShape(NamedTuple):
    """What a class says about an object."""

    names: frozenset[str]
    inner: tuple[tuple[str, FieldMark], ...]
    """The fields to look into."""


class Drift:
    """Collects what is unknown, entry by entry."""

    def __init__(self) -> None:
        self.unknown: dict[str, UnknownItem] = {}
        """By path, in the order they were met."""
        self.unnamed = 0
        """How many were met after LIMIT different ones."""
        self._version: str | None = None
        self._place: int | None = None

    def add_entry(self, body: dict[str, Any], version: str | None = None, place: int | None = None) -> None:
        """Look at one decoded entry. Without a version, that of the entries before holds."""
        self._version = version or self._version
        self._place = place
        name, cls = _name_entry_type(body), find_entry_class(body)
        if cls is not None:
            self._check_object(name, body, build_object_shape(cls))
        elif name.startswith("system/"):
            self._count_unknown("subtype", name)
        else:
            self._count_unknown("type", name)

    def __iter__(self) -> Iterator[UnknownItem]:
        return iter(self.unknown.values())

    def __bool__(self) -> bool:
        return bool(self.unknown)

    def _check_object(self, path: str, body: dict[str, Any], known: ObjectShape, depth: int = 0) -> None:
        if not known.names.issuperset(body):
            for name in sorted(body.keys() - known.names):
                self._count_unknown("field", f"{path}.{name}")
        for name, inside in known.inner:
            value = body.get(name)
            if isinstance(inside, ValuesMark):
                if isinstance(value, str) and value not in inside.values:
                    self._count_unknown("value", f'{path}.{name} = "{value}"')
            elif isinstance(inside, KindMark):
                self._check_held_objects(value, inside.what, depth)
            else:
                for part in _list_objects(value, inside.many):
                    self._check_object(f"{path}.{name}", part, build_object_shape(inside.cls), depth)

    def _check_held_objects(self, value: Any, what: str, depth: int) -> None:
        label, classes = _CLASSES_BY_KIND[what]
        for part in value if isinstance(value, list) else (value,):
            if not isinstance(part, dict):
                continue
            tag = part.get("type")
            path = f"{label}/{tag if isinstance(tag, str) else _NO_TYPE_NAME}"
            cls = classes.get(tag) if isinstance(tag, str) else None
            if cls is None:
                self._count_unknown(label, path)
            elif depth < _MAX_NESTING:
                self._check_object(path, part, build_object_shape(cls), depth + 1)

    def _count_unknown(self, kind: str, path: str) -> None:
        path = path[:_MAX_PATH_CHARS]
        found = self.unknown.get(path)
        if found is None:
            if len(self.unknown) >= MAX_UNKNOWN_ITEMS:
                self.unnamed += 1
                return
            found = self.unknown[path] = UnknownItem(kind, path, 0, self._version, self._place)
        found.count += 1


@cache
def build_object_shape(cls: type[FormatObject]) -> ObjectShape:
    """The names of an object's fields, and which of them to look into."""
    config = cls.__struct_config__
    names = set(cls.__struct_encode_fields__)
    if config.tag_field is not None:
        names.add(config.tag_field)
    looks = ((field.encode_name, _find_mark(field.type)) for field in msgspec.structs.fields(cls))
    return ObjectShape(frozenset(names), tuple((name, look) for name, look in looks if look is not None))


def _find_mark(hint: Any, many: bool = False) -> FieldMark | None:
    origin = get_origin(hint)
    if origin is Annotated:
        mark: FieldMark = get_args(hint)[1].extra["mark"]
        return mark
    if origin in (Union, python.UnionType, list, dict):
        looks = (_find_mark(part, many or origin is dict) for part in get_args(hint))
        return next((look for look in looks if look is not None), None)
    return ClassMark(hint, many) if isinstance(hint, type) and issubclass(hint, FormatObject) else None


def _list_objects(value: Any, many: bool) -> Iterator[dict[str, Any]]:
    if many and isinstance(value, dict):
        value = list(value.values())
    for part in value if isinstance(value, list) else (value,):
        if isinstance(part, dict):
            yield part


def _name_entry_type(body: dict[str, Any]) -> str:
    kind, subtype = body.get("type"), body.get("subtype")
    name = kind if isinstance(kind, str) else _NO_TYPE_NAME
    if name != "system" or subtype is None:
        return name
    return f"system/{subtype if isinstance(subtype, str) else _NO_TYPE_NAME}"
