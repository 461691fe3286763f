"""A window of a transcript: some items as HTML, with a heading where a turn begins and a switch where it forks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from markupsafe import Markup

from turnlog.render.html import HtmlWriter
from turnlog.render.text_folds import shorten_views
from turnlog.render.view import AnyView
from turnlog.render.view_builder import build_item_views
from turnlog.session.clock import parse_timestamp
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline import Chapter, Fork, TimelineItem
from turnlog.web import amounts
from turnlog.web.amounts import format_datetime_attribute, format_local_time
from turnlog.web.answers import load_templates
from turnlog.web.reading.links import PageLinks, key_prefix
from turnlog.web.reading.outline import read_turn_title
from turnlog.web.reading.transcript_view import TranscriptView


def render_time(text: str | None) -> Markup:
    """A time, in the time zone of this machine; nothing where there is none."""
    found = parse_timestamp(text)
    if found is None:
        return Markup("")
    seconds = found.timestamp()
    return Markup('<time datetime="{}">{}</time>').format(
        format_datetime_attribute(seconds), format_local_time(seconds)
    )


def count_seconds_between(started: str | None, ended: str | None) -> float | None:
    """Seconds from one time to another; None where one is not known."""
    begin, end = parse_timestamp(started), parse_timestamp(ended)
    return (end - begin).total_seconds() if begin and end else None


ITEMS_PER_WINDOW = 40
"""Items in a window: about a hundred messages, since an answer is one item with the results of its calls."""
TEMPLATE_FUNCTIONS: dict[str, Any] = {
    "clock": render_time,
    "between": count_seconds_between,
    "counted": amounts.format_count,
    "lasted": amounts.format_seconds,
    "money": amounts.format_usd,
    "short": amounts.format_short_number,
    "folder_name": amounts.folder_name,
    "model_name": amounts.model_name,
}
"""What the templates of a session say amounts and times with."""


class TurnHeading(NamedTuple):
    """Where a turn begins."""

    chapter: Chapter
    address: str
    level: int
    title: str


class ForkWay(NamedTuple):
    """One of the ways from a fork."""

    title: str
    time: str | None
    address: str
    is_here: bool


class ForkSwitch(NamedTuple):
    """A fork, just before the item with which this branch goes on from it."""

    number: int
    """Of the way that is taken here, from 1."""
    ways: list[ForkWay]


class WindowPiece(NamedTuple):
    """An item as HTML and what stands before it."""

    html: Markup
    heading: TurnHeading | None
    crossings: Sequence[ForkSwitch]


class TranscriptWindow(NamedTuple):
    """Some items that follow each other."""

    n: int
    first: int
    pieces: list[WindowPiece]


def count_windows(found: TranscriptView) -> int:
    """How many windows there are; one at least."""
    return max(-(-found.count // ITEMS_PER_WINDOW), 1)


def build_window(found: TranscriptView, n: int, *, level: int = 2) -> TranscriptWindow:
    """The window of a number, with headings of a level."""
    first = n * ITEMS_PER_WINDOW
    items = found.read_items(first, ITEMS_PER_WINDOW)
    if not items:
        return TranscriptWindow(n, first, [])
    excerpt = found.kept.read_excerpt(items)
    headings = dict(_find_headings(found, first, len(items), level))
    crossings = _find_fork_switches(found, first, items, excerpt)
    links = PageLinks(found.known.ref, found.agent, found.leaf, {helper.agent_id for helper in found.main.agents})
    html = HtmlWriter(links.picture, links, buttons=True)
    pieces = [
        WindowPiece(markup, headings.get(place), crossings.get(place, ()))
        for place, markup in enumerate(
            html.write_each_view(shorten_views(build_page_views(found, items, excerpt), items)), start=first
        )
    ]
    return TranscriptWindow(n, first, pieces)


def build_page_views(found: TranscriptView, items: list[TimelineItem], excerpt: Excerpt) -> list[AnyView]:
    """The views of some items; those of a sub-agent have keys that no other item of the page has."""
    prefix = key_prefix(found.agent)
    made = build_item_views(excerpt, items, found.main)
    return [msgspec.structs.replace(view, key=prefix + view.key) for view in made] if prefix else made


def _find_headings(found: TranscriptView, first: int, count: int, level: int) -> Iterator[tuple[int, TurnHeading]]:
    start = bisect_left(found.chapters, first, key=lambda pair: pair[0])
    for position, chapter in found.chapters[start:]:
        if position >= first + count:
            return
        if chapter.turn:
            yield position, TurnHeading(chapter, found.turn_link(chapter.turn), level, read_turn_title(chapter))


def _find_fork_switches(
    found: TranscriptView, first: int, items: list[TimelineItem], excerpt: Excerpt
) -> dict[int, list[ForkSwitch]]:
    """The forks whose next item on this branch is in the window, by its position."""
    turns = {item.turn for item in items}
    near = [fork for fork in found.head.forks if any(way.turn in turns for way in fork.ways)]
    owners = {place[0]: at for at, item in enumerate(items, start=first) for place in item.lines} if near else {}
    made: dict[int, list[ForkSwitch]] = {}
    for fork in near:
        for place, way in enumerate(fork.ways):
            index = excerpt.session.file.by_uuid.get(way.key)
            position = None if index is None else owners.get(excerpt.find_offset(excerpt.session.file.entries[index]))
            if position is not None:
                made.setdefault(position, []).append(ForkSwitch(place + 1, _build_fork_ways(found, fork, place)))
                break
    return made


def _build_fork_ways(found: TranscriptView, fork: Fork, here: int) -> list[ForkWay]:
    return [
        ForkWay(way.title, way.time, found.permalink(way.key, way.leaf), place == here)
        for place, way in enumerate(fork.ways)
    ]


def render_window(found: TranscriptView, n: int, *, level: int = 2) -> str:
    """A window alone."""
    made = load_templates().get_template("session_window.html")
    return made.render(window=build_window(found, n, level=level), found=found, **TEMPLATE_FUNCTIONS)
