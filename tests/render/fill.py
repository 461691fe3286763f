"""Views with one text in every field that a transcript can fill."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any, Union, get_args, get_origin, get_type_hints

from msgspec import Struct
from msgspec.structs import replace

from turnlog.render import card as cards
from turnlog.render import view as sights
from turnlog.session.files.patches import Hunk

VIEWS = (sights.PromptView, sights.AnswerView, sights.EventView, sights.CompactionView, sights.MetaView)
LONG = 2_000
"""A longer text is filled in once only."""
WORDS: dict[tuple[type, str], tuple[Any, ...]] = {
    (sights.PromptView, "kind"): ("prompt", "command", "bash", "notification", "teammate", "peer", "typed"),
    (sights.PromptView, "speaker"): ("person", "cli", "peer"),
    (sights.EventView, "tone"): ("plain", "note", "warning", "error"),
    (sights.EventView, "is_terminal"): (False,),
    (sights.CompactionView, "before"): (None,),
    (sights.CompactionView, "summary"): ("",),
    (sights.AnswerView, "is_error"): (False,),
    (sights.AnswerView, "is_synthetic"): (False,),
    (sights.AnswerView, "tokens"): (None,),
    (sights.AnswerView, "model"): (None,),
    (cards.Card, "outcome"): ("answered", "error", "denied", "interrupted", "launched", "unanswered"),
    (cards.Card, "family"): ("writing", "reading"),
    (cards.Card, "agent_id"): (None,),
    (cards.Picture, "kind"): ("image", "document"),
    (cards.Picture, "name"): ("",),
    (cards.TerminalSection, "stream"): ("output", "error"),
    (cards.CodeSection, "first_line"): (None,),
    (cards.CodeSection, "language"): ("python", "html", "markdown", "x.sh"),
    (cards.DiffSection, "created"): (False,),
    (cards.LinkSection, "url"): ("https://ok.example/",),
    (cards.ChecklistTask, "state"): ("pending", "in_progress", "completed", "deleted"),
    (cards.QuestionChoice, "answers"): ((),),
}
"""Words that a template knows, which lead to parts of it that other words don't."""


def fill_value(kind: Any, text: str) -> Any:
    """A value of a type in which every text is the given one."""
    if kind is str:
        return text
    if kind is Any:
        return {text: [text, 1, None, {text: text}], "deep": [[[text]]]}
    if kind is Hunk:
        return Hunk(1, 1, (f" {text}", f"-a {text}", f"+b {text}", f"+{text}", f"\\{text}"))
    if kind in (int, float, bool):
        return kind(1)
    if get_origin(kind) is tuple:
        return _tuple(get_args(kind), text)
    if get_origin(kind) in (Union, types.UnionType):
        return fill_value(next(part for part in get_args(kind) if part is not type(None)), text)
    hints = get_type_hints(kind)
    return kind(**{name: fill_value(hints[name], text) for name in kind.__struct_fields__})


def _tuple(parts: tuple[Any, ...], text: str) -> tuple[Any, ...]:
    if len(parts) == 2 and parts[1] is Ellipsis:
        members = get_args(parts[0]) if get_origin(parts[0]) in (Union, types.UnionType) else (parts[0],)
        return tuple(fill_value(member, text) for member in members)
    return tuple(fill_value(part, text) for part in parts)


def all_views(text: str) -> Iterator[sights.AnyView]:
    """Every view, filled with a text, and again with each word that a template knows."""
    for kind in VIEWS:
        view = fill_value(kind, text)
        yield view
        yield from _with_words(view) if len(text) < LONG else ()
    if len(text) >= LONG:
        return
    card = fill_value(cards.Card, text)
    answer = fill_value(sights.AnswerView, text)
    for other in _with_words(card):
        yield replace(answer, blocks=(sights.AnswerCall(other),))
    for section in (*get_args(cards.Section), cards.ChecklistTask, cards.QuestionChoice):
        for other in _with_words(fill_value(section, text)):
            yield replace(answer, blocks=(sights.AnswerCall(replace(card, asked=(_whole(other),), answered=())),))


def _whole(section: Any) -> cards.Section:
    if isinstance(section, cards.ChecklistTask):
        return cards.ChecklistSection((section,))
    return cards.QuestionsSection((section,)) if isinstance(section, cards.QuestionChoice) else section


def _with_words(value: Struct) -> Iterator[Any]:
    for (kind, field), words in WORDS.items():
        if type(value) is kind:
            yield from (replace(value, **{field: word}) for word in words)
