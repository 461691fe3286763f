"""What genuine sessions of every era of the format look like as HTML: a few items of each, as they were once looked at.

`pytest tests/render/test_fragments.py --snapshot-update` takes them anew; look at what has changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.session.build import DATA
from turnlog.render.html import HtmlWriter
from turnlog.render.view import (
    AnswerCall,
    AnswerText,
    AnswerThinking,
    AnswerView,
    AnyView,
    CompactionView,
    EventView,
    MetaView,
    PromptView,
)
from turnlog.render.view_builder import build_item_views
from turnlog.session.session import Session
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline_builder import build_timeline

ERAS = ("1.0.128", "2.0.76", "2.1.29", "2.1.45", "2.1.325")
KINDS = ("prompt", "said", "Bash", "Edit", "agent", "compaction", "error", "event", "meta")
LONGEST = 2_500
_TAG = re.compile(
    r"(?=<(?!/)(?!(?:a|b|code|em|span|strong|time|button|label|input)\b))|(?<=</summary>)|(?<=</details>)"
)


@cache
def list_views(version: str) -> list[AnyView]:
    """The views of recorded sessions of a version, one session after the other."""
    made: list[AnyView] = []
    for path in sorted(DATA.glob(f"sessions/{version}/*/projects/*/????????-*.jsonl")):
        with Session.open(path) as session:
            told = build_timeline(session)
            made += build_item_views(Excerpt.from_session(session), told.items, told.head)
    return made


def is_view_of(kind: str, view: AnyView) -> bool:
    match view:
        case PromptView():
            return kind == "prompt" and view.kind == "prompt"
        case AnswerView() if view.is_error:
            return kind == "error"
        case AnswerView():
            return kind in {name for block in view.blocks for name in names(block)}
        case CompactionView():
            return kind == "compaction"
        case EventView():
            return kind == "event"
        case MetaView():
            return kind == "meta" and len(view.rows) < 4


def names(block: object) -> Iterator[str]:
    match block:
        case AnswerText() | AnswerThinking():
            yield "said"
        case AnswerCall(card):
            yield "agent" if card.family == "agents" else card.tool


def lines(html: str) -> str:
    """HTML with a line for every element that stands by itself, so that a difference can be read."""
    return "\n".join(line for part in _TAG.split(html) for line in part.splitlines() if line.strip())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", ERAS)
def test_a_session_of_every_era_looks_as_it_did(version: str, kind: str, snapshot: SnapshotAssertion) -> None:
    found = [view for view in list_views(version) if is_view_of(kind, view)]
    made = sorted((str(HtmlWriter(lambda _: None).write_view(view)) for view in found), key=len)
    # The one that shows most of what there is, but no page of it.
    short = [html for html in made if len(html) < LONGEST]
    assert lines([*made[:1], *short][-1] if made else "none was recorded") == snapshot
