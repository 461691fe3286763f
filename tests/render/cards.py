"""Cards of calls for tests: made by hand from an input and a result, or found in a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.session.build import DATA, Build
from turnlog.demo import config_dir
from turnlog.render.card import Card
from turnlog.render.view import AnswerCall, AnswerView, AnyView
from turnlog.render.view_builder import build_item_views
from turnlog.session.session import Session
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline_builder import build_timeline

UNANSWERED: Any = object()
"""The call has no result."""


def build_views(session: Session, *, head: bool = True) -> list[AnyView]:
    """The views of a session."""
    found = build_timeline(session)
    return build_item_views(Excerpt.from_session(session), found.items, found.head if head else None)


def cards(found: list[AnyView]) -> Iterator[Card]:
    """The cards in some views, in order."""
    for view in found:
        if isinstance(view, AnswerView):
            yield from (block.card for block in view.blocks if isinstance(block, AnswerCall))


def card(
    name: str, given: Any, result: Any = "done", record: Any = None, *, error: bool | None = None, **fields: Any
) -> Card:
    """The card of one call."""
    build = Build(step=2)
    build.prompt()
    build.call("c1", name, given)
    if result is not UNANSWERED:
        extra = {} if record is None else {"toolUseResult": record}
        build.result("c1", result, error=error, **extra, **fields)
    (found,) = cards(build_views(build.session()))
    return found


def recorded_sessions() -> list[Path]:
    """All sessions that are part of the project: recorded, edited by hand, of the demo; with their sub-agents."""
    return sorted(
        [
            *DATA.glob("*/**/projects/**/*.jsonl"),
            *DATA.glob("variants/*.jsonl"),
            *config_dir().glob("projects/**/*.jsonl"),
        ]
    )
