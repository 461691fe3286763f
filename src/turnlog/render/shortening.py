"""Texts that are too long for any page: as much of each as a browser can show, and how much more the raw entry has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from turnlog.render.card import Picture, Tree
from turnlog.render.figures import count
from turnlog.render.view import AnyView, Odd
from turnlog.session.timeline.timeline import Item

LONGEST = 500_000
"""So many characters of a text are shown; clients cut what tools print long before."""


def shortened(views: Sequence[AnyView], items: Sequence[Item]) -> list[AnyView]:
    """The views of some items, without what no page could hold."""
    return [_cut(view) if _is_large(item) else view for view, item in zip(views, items, strict=True)]


def _is_large(item: Item) -> bool:
    return any(size > LONGEST for _, size in (*item.lines, *item.results))


def _cut(value: Any) -> Any:
    match value:
        case str() if len(value) > LONGEST:
            return f"{value[:LONGEST]}\n… {count(len(value) - LONGEST, 'more character')}, in the raw entry"
        case Picture() | Tree() | Odd():  # a picture has an address of its own, and trees are short anyway
            return value
        case Struct():
            return replace(value, **{name: _cut(getattr(value, name)) for name in value.__struct_fields__})
        case tuple():
            return tuple(map(_cut, value))
    return value
