"""What of a session is to be shown: the same choice for every form."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec.structs import replace

from turnlog.render.card import Card, Picture, Section, Tree
from turnlog.render.view import Answer, AnyView, Block, Called, Meta, Odd, Prompt, Shot, Thought

_DATA = frozenset({"data", "base64"})
_SHORT = 256
_DEEPEST = 200


class Wishes(NamedTuple):
    """What is wished for."""

    tools: bool = True
    thinking: bool = True
    meta: bool = False
    """The client's own book-keeping, too."""
    pictures: bool = True
    """Images and documents with their data; else they are only named."""
    details: bool = False
    """In Markdown: long parts folded away in `<details>`, which is HTML and not every reader knows it."""


EVERYTHING = Wishes(meta=True)


def wished(view: AnyView, wishes: Wishes) -> AnyView | None:
    """A view with nothing but what is wished for; None where nothing is left of it."""
    match view:
        case Meta():
            return view if wishes.meta else None
        case Answer():
            return _answer(view, wishes)
        case Prompt() if view.pictures and not wishes.pictures:
            return replace(view, pictures=tuple(map(named_only, view.pictures)))
    return view


def _answer(view: Answer, wishes: Wishes) -> Answer | None:
    blocks = tuple(_block(block, wishes) for block in view.blocks if _is_wished(block, wishes))
    return replace(view, blocks=blocks) if blocks or not view.blocks else None


def _is_wished(block: Block, wishes: Wishes) -> bool:
    if isinstance(block, Called):
        return wishes.tools
    return wishes.thinking or not isinstance(block, Thought)


def _block(block: Block, wishes: Wishes) -> Block:
    if wishes.pictures:
        return block
    match block:
        case Shot(picture):
            return Shot(named_only(picture))
        case Called(card):
            return Called(_card(card))
        case Odd(kind, value):
            return Odd(kind, without_data(value))
    return block


def _card(card: Card) -> Card:
    return replace(card, asked=tuple(map(_section, card.asked)), answered=tuple(map(_section, card.answered)))


def _section(section: Section) -> Section:
    if isinstance(section, Picture):
        return named_only(section)
    return replace(section, value=without_data(section.value)) if isinstance(section, Tree) else section


def named_only(picture: Picture) -> Picture:
    """A picture without its data."""
    return replace(picture, data="")


def without_data(value: Any, depth: int = 0) -> Any:
    """A JSON value without the data of pictures in it."""
    if depth > _DEEPEST:
        return None
    if isinstance(value, dict):
        return {
            key: ""
            if key in _DATA and isinstance(inner, str) and len(inner) > _SHORT
            else without_data(inner, depth + 1)
            for key, inner in value.items()
        }
    return [without_data(inner, depth + 1) for inner in value] if isinstance(value, list) else value
