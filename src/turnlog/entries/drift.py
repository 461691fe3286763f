"""Finds anything new in a file: types, fields and values that are not in the registry (`entries.format`).

The format grows every few weeks. New data is not an error: everything unknown is kept and shown. This module lists and
counts it so that the user can see what this version of turnlog does not recognise.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import msgspec

from turnlog.entries.format import FieldFormat, load_format

MAX_UNKNOWN_ITEMS = 1000
"""The maximum number of unknown items to list, which protects memory from a hostile file; the rest are counted."""

_MAX_PATH_CHARS = 120
_MAX_NESTING = 8  # Blocks contain blocks: a result contains text. Deeper nesting is nonsense, and may be endless.
_NO_TYPE_NAME = "(no type)"
_GROUP_LABELS = {"blocks": "block", "attachments": "attachment", "progress": "progress"}
"""The groups of kinds that a field may contain, and the word for one member of each."""


class UnknownItem(msgspec.Struct):
    """A type, field or value that is not in the registry."""

    kind: str
    """`type`, `subtype`, `attachment`, `progress`, `block`, `field` or `value`."""
    path: str
    """The place and the name: `system/new`, `assistant.message.usage.new`, `queue-operation.operation = "new"`."""
    count: int = 0
    version: str | None = None
    """The first version of the client that wrote it in this file."""
    place: int | None = None
    """Where it first occurs, in the caller's count: a line, an offset or an index."""


class ObjectShape(NamedTuple):
    """The known fields of one object, arranged for fast comparison."""

    names: frozenset[str]
    inner: tuple[tuple[str, FieldFormat], ...]
    """The fields to inspect: those that contain objects or have a known set of values."""


class Drift:
    """Collects unknown items, entry by entry."""

    def __init__(self) -> None:
        self.unknown: dict[str, UnknownItem] = {}
        """By path, in order of first occurrence."""
        self.unnamed = 0
        """How many items were not recorded because MAX_UNKNOWN_ITEMS was reached."""
        self._shapes = load_shapes()
        self._version: str | None = None
        self._place: int | None = None

    def add_entry(self, body: dict[str, Any], version: str | None = None, place: int | None = None) -> None:
        """Check one decoded entry. If the entry has no version, the version of the previous entry is used."""
        self._version = version or self._version
        self._place = place
        name, shape = _name_entry_type(body), self._find_entry_shape(body)
        if shape is not None:
            self._check_object(name, body, shape)
        else:
            self._count_unknown("subtype" if name.startswith("system/") else "type", name)

    def __iter__(self) -> Iterator[UnknownItem]:
        return iter(self.unknown.values())

    def __bool__(self) -> bool:
        return bool(self.unknown)

    def _find_entry_shape(self, body: dict[str, Any]) -> ObjectShape | None:
        """Find the shape of an entry by its type, or, for a system entry, by its subtype."""
        kind, subtype = body.get("type"), body.get("subtype")
        group, tag = ("entries", kind) if kind != "system" or subtype is None else ("system", subtype)
        return self._shapes[group].get(tag) if isinstance(tag, str) else None

    def _check_object(self, path: str, body: dict[str, Any], known: ObjectShape, depth: int = 0) -> None:
        if not known.names.issuperset(body):
            for name in sorted(body.keys() - known.names):
                self._count_unknown("field", f"{path}.{name}")
        for name, field in known.inner:
            value = body.get(name)
            if field.values:
                if isinstance(value, str) and value not in field.values:
                    self._count_unknown("value", f'{path}.{name} = "{value}"')
            elif field.holds in _GROUP_LABELS:
                self._check_held_kinds(value, field.holds, depth)
            else:
                shape = self._shapes["objects"][field.holds]
                for part in _list_objects(value, is_map=field.type == "map"):
                    self._check_object(f"{path}.{name}", part, shape, depth)

    def _check_held_kinds(self, value: Any, group: str, depth: int) -> None:
        label = _GROUP_LABELS[group]
        for part in value if isinstance(value, list) else (value,):
            if not isinstance(part, dict):
                continue
            tag = part.get("type")
            path = f"{label}/{tag if isinstance(tag, str) else _NO_TYPE_NAME}"
            shape = self._shapes[group].get(tag) if isinstance(tag, str) else None
            if shape is None:
                self._count_unknown(label, path)
            elif depth < _MAX_NESTING:
                self._check_object(path, part, shape, depth + 1)

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
def load_shapes() -> dict[str, dict[str, ObjectShape]]:
    """Return the shapes of all known objects: by group ("entries", "system", "blocks", …), then by name."""
    registry = load_format()
    groups = {
        "entries": (registry.entries, ("type",)),
        "system": (registry.system, ("subtype",)),
        "attachments": (registry.attachments, ("type",)),
        "progress": (registry.progress, ("type",)),
        "blocks": (registry.blocks, ("type",)),
        "objects": (registry.objects, ()),
    }
    return {
        group: {name: _build_shape(registry.list_fields(kind), tags) for name, kind in kinds.items()}
        for group, (kinds, tags) in groups.items()
    }


def _build_shape(fields: dict[str, FieldFormat], tags: tuple[str, ...]) -> ObjectShape:
    inner = tuple((name, field) for name, field in fields.items() if field.holds or field.values)
    return ObjectShape(frozenset((*fields, *tags)), inner)


def _list_objects(value: Any, *, is_map: bool) -> Iterator[dict[str, Any]]:
    """Yield the objects in a field: the values of a map, the items of a list, or the value itself."""
    if is_map and isinstance(value, dict):
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
