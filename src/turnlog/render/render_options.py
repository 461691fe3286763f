"""The parts of a session to show, with the same options for every format."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec.structs import replace

from turnlog.render.card import Card, Picture, Section, TreeSection
from turnlog.render.view import (
    AnswerBlock,
    AnswerCall,
    AnswerOther,
    AnswerPicture,
    AnswerThinking,
    AnswerView,
    AnyView,
    MetaView,
    PromptView,
)

_DATA_KEYS = frozenset({"data", "base64"})
_MAX_SHORT_DATA_CHARS = 256
_MAX_NESTING = 200


class RenderOptions(NamedTuple):
    tools: bool = True
    thinking: bool = True
    meta: bool = False
    """Whether to include Claude Code's own bookkeeping."""
    pictures: bool = True
    """Whether images and documents include their data; otherwise only their names are shown."""
    details: bool = False
    """In Markdown, whether to fold long parts in `<details>`, which not every Markdown reader supports."""


SHOW_EVERYTHING = RenderOptions(meta=True)


def filter_view(view: AnyView, options: RenderOptions) -> AnyView | None:
    """Reduce a view to what the options include; None if nothing is left."""
    match view:
        case MetaView():
            return view if options.meta else None
        case AnswerView():
            return _filter_answer(view, options)
        case PromptView() if view.pictures and not options.pictures:
            return replace(view, pictures=tuple(map(strip_picture_data, view.pictures)))
    return view


def _filter_answer(view: AnswerView, options: RenderOptions) -> AnswerView | None:
    blocks = tuple(_strip_block(block, options) for block in view.blocks if _is_wanted(block, options))
    return replace(view, blocks=blocks) if blocks or not view.blocks or view.lost_tokens else None


def _is_wanted(block: AnswerBlock, options: RenderOptions) -> bool:
    if isinstance(block, AnswerCall):
        return options.tools
    return options.thinking or not isinstance(block, AnswerThinking)


def _strip_block(block: AnswerBlock, options: RenderOptions) -> AnswerBlock:
    if options.pictures:
        return block
    match block:
        case AnswerPicture(picture):
            return AnswerPicture(strip_picture_data(picture))
        case AnswerCall(card):
            return AnswerCall(_strip_card(card))
        case AnswerOther(kind, value):
            return AnswerOther(kind, strip_data(value))
    return block


def _strip_card(card: Card) -> Card:
    return replace(
        card, asked=tuple(map(_strip_section, card.asked)), answered=tuple(map(_strip_section, card.answered))
    )


def _strip_section(section: Section) -> Section:
    if isinstance(section, Picture):
        return strip_picture_data(section)
    return replace(section, value=strip_data(section.value)) if isinstance(section, TreeSection) else section


def strip_picture_data(picture: Picture) -> Picture:
    return replace(picture, data="")


def strip_data(value: Any, depth: int = 0) -> Any:
    """Return a JSON value without its picture data."""
    if depth > _MAX_NESTING:
        return None
    if isinstance(value, dict):
        return {
            key: ""
            if key in _DATA_KEYS and isinstance(inner, str) and len(inner) > _MAX_SHORT_DATA_CHARS
            else strip_data(inner, depth + 1)
            for key, inner in value.items()
        }
    return [strip_data(inner, depth + 1) for inner in value] if isinstance(value, list) else value
