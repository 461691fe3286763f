"""What of a session is to be shown: the same choice for every form."""

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
    """What is wished for."""

    tools: bool = True
    thinking: bool = True
    meta: bool = False
    """The client's own book-keeping, too."""
    pictures: bool = True
    """Images and documents with their data; else they are only named."""
    details: bool = False
    """In Markdown: long parts folded away in `<details>`, which is HTML and not every reader knows it."""


SHOW_EVERYTHING = RenderOptions(meta=True)


def filter_view(view: AnyView, wishes: RenderOptions) -> AnyView | None:
    """A view with nothing but what is wished for; None where nothing is left of it."""
    match view:
        case MetaView():
            return view if wishes.meta else None
        case AnswerView():
            return _filter_answer(view, wishes)
        case PromptView() if view.pictures and not wishes.pictures:
            return replace(view, pictures=tuple(map(strip_picture_data, view.pictures)))
    return view


def _filter_answer(view: AnswerView, wishes: RenderOptions) -> AnswerView | None:
    blocks = tuple(_strip_block(block, wishes) for block in view.blocks if _is_wanted(block, wishes))
    return replace(view, blocks=blocks) if blocks or not view.blocks else None


def _is_wanted(block: AnswerBlock, wishes: RenderOptions) -> bool:
    if isinstance(block, AnswerCall):
        return wishes.tools
    return wishes.thinking or not isinstance(block, AnswerThinking)


def _strip_block(block: AnswerBlock, wishes: RenderOptions) -> AnswerBlock:
    if wishes.pictures:
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
    """A picture without its data."""
    return replace(picture, data="")


def strip_data(value: Any, depth: int = 0) -> Any:
    """A JSON value without the data of pictures in it."""
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
