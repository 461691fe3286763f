"""A window of a transcript: some items as HTML, with a heading where a turn begins and a switch where it forks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from markupsafe import Markup

from turnlog.render.html import Html
from turnlog.render.shortening import shortened
from turnlog.render.view import AnyView
from turnlog.render.viewing import views
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline import Chapter, Fork, Item
from turnlog.web import amounts
from turnlog.web.answers import templates
from turnlog.web.reading.clocks import between, clock
from turnlog.web.reading.links import Links, key_prefix
from turnlog.web.reading.outline import title
from turnlog.web.reading.transcript import Transcript

SIZE = 40
"""Items in a window: about a hundred messages, since an answer is one item with the results of its calls."""
WORDS: dict[str, Any] = {
    "clock": clock,
    "between": between,
    "counted": amounts.count,
    "lasted": amounts.lasted,
    "money": amounts.money,
    "short": amounts.short,
    "folder_name": amounts.folder_name,
    "model_name": amounts.model_name,
}
"""What the templates of a session say amounts and times with."""


class Heading(NamedTuple):
    """Where a turn begins."""

    chapter: Chapter
    address: str
    level: int
    title: str


class Way(NamedTuple):
    """One of the ways from a fork."""

    title: str
    time: str | None
    address: str
    is_here: bool


class Crossing(NamedTuple):
    """A fork, just before the item with which this branch goes on from it."""

    number: int
    """Of the way that is taken here, from 1."""
    ways: list[Way]


class Piece(NamedTuple):
    """An item as HTML and what stands before it."""

    html: Markup
    heading: Heading | None
    crossings: Sequence[Crossing]


class Window(NamedTuple):
    """Some items that follow each other."""

    n: int
    first: int
    pieces: list[Piece]


def count(found: Transcript) -> int:
    """How many windows there are; one at least."""
    return max(-(-found.count // SIZE), 1)


def window(found: Transcript, n: int, *, level: int = 2) -> Window:
    """The window of a number, with headings of a level."""
    first = n * SIZE
    items = found.items(first, SIZE)
    if not items:
        return Window(n, first, [])
    excerpt = found.kept.excerpt(items)
    headings = dict(_headings(found, first, len(items), level))
    crossings = _crossings(found, first, items, excerpt)
    links = Links(found.known.ref, found.agent, found.leaf, {helper.agent_id for helper in found.main.agents})
    html = Html(links.picture, links, buttons=True)
    pieces = [
        Piece(markup, headings.get(place), crossings.get(place, ()))
        for place, markup in enumerate(html.each(shortened(shown(found, items, excerpt), items)), start=first)
    ]
    return Window(n, first, pieces)


def shown(found: Transcript, items: list[Item], excerpt: Excerpt) -> list[AnyView]:
    """The views of some items; those of a sub-agent have keys that no other item of the page has."""
    prefix = key_prefix(found.agent)
    made = views(excerpt, items, found.main)
    return [msgspec.structs.replace(view, key=prefix + view.key) for view in made] if prefix else made


def _headings(found: Transcript, first: int, count: int, level: int) -> Iterator[tuple[int, Heading]]:
    start = bisect_left(found.chapters, first, key=lambda pair: pair[0])
    for position, chapter in found.chapters[start:]:
        if position >= first + count:
            return
        if chapter.turn:
            yield position, Heading(chapter, found.turn_link(chapter.turn), level, title(chapter))


def _crossings(found: Transcript, first: int, items: list[Item], excerpt: Excerpt) -> dict[int, list[Crossing]]:
    """The forks whose next item on this branch is in the window, by its position."""
    turns = {item.turn for item in items}
    near = [fork for fork in found.head.forks if any(way.turn in turns for way in fork.ways)]
    owners = {place[0]: at for at, item in enumerate(items, start=first) for place in item.lines} if near else {}
    made: dict[int, list[Crossing]] = {}
    for fork in near:
        for place, way in enumerate(fork.ways):
            index = excerpt.session.file.by_uuid.get(way.key)
            position = None if index is None else owners.get(excerpt.offset(excerpt.session.file.entries[index]))
            if position is not None:
                made.setdefault(position, []).append(Crossing(place + 1, _ways(found, fork, place)))
                break
    return made


def _ways(found: Transcript, fork: Fork, here: int) -> list[Way]:
    return [
        Way(way.title, way.time, found.permalink(way.key, way.leaf), place == here)
        for place, way in enumerate(fork.ways)
    ]


def fragment(found: Transcript, n: int, *, level: int = 2) -> str:
    """A window alone."""
    made = templates().get_template("session_window.html")
    return made.render(window=window(found, n, level=level), found=found, **WORDS)
