"""Texts that are too long for any page: as much of each as a browser can show, and how much more the raw entry has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from turnlog.render.card import Picture, TreeSection
from turnlog.render.figures import format_count
from turnlog.render.view import AnswerOther, AnyView
from turnlog.session.timeline.timeline import TimelineItem

MAX_TEXT_CHARS = 500_000
"""So many characters of a text are shown; clients cut what tools print long before."""


def shorten_views(views: Sequence[AnyView], items: Sequence[TimelineItem]) -> list[AnyView]:
    """The views of some items, without what no page could hold."""
    return [_shorten_value(view) if _is_large_item(item) else view for view, item in zip(views, items, strict=True)]


def _is_large_item(item: TimelineItem) -> bool:
    return any(size > MAX_TEXT_CHARS for _, size in (*item.lines, *item.results))


def _shorten_value(value: Any) -> Any:
    match value:
        case str() if len(value) > MAX_TEXT_CHARS:
            return (
                f"{value[:MAX_TEXT_CHARS]}\n… {format_count(len(value) - MAX_TEXT_CHARS, 'more character')}, "
                f"in the raw entry"
            )
        case (
            Picture() | TreeSection() | AnswerOther()
        ):  # a picture has an address of its own, and trees are short anyway
            return value
        case Struct():
            return replace(value, **{name: _shorten_value(getattr(value, name)) for name in value.__struct_fields__})
        case tuple():
            return tuple(map(_shorten_value, value))
    return value
