"""A window of a transcript: some items as HTML, with a heading for each turn and a switch at each fork."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from turnlog.render.phrases import read_turn_title
from turnlog.session.clock import parse_timestamp
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline import Chapter, Fork, TimelineItem
from turnlog.session.turns import RoundType
from turnlog.web import amounts
from turnlog.web.amounts import format_datetime_attribute, format_local_time
from turnlog.web.answers import load_templates
from turnlog.web.reading.item_parts import ItemRest, build_page_views, build_page_writer, cut_view
from turnlog.web.reading.transcript_view import TranscriptView


def render_time(text: str | None) -> Markup:
    """Render a time in this machine's time zone, or nothing if it is unknown."""
    moment = parse_timestamp(text)
    if moment is None:
        return Markup("")
    seconds = moment.timestamp()
    return Markup('<time datetime="{}">{}</time>').format(
        format_datetime_attribute(seconds), format_local_time(seconds)
    )


def count_seconds_between(started: str | None, ended: str | None) -> float | None:
    """Return the seconds between two timestamps; None if one is unknown."""
    begin, end = parse_timestamp(started), parse_timestamp(ended)
    return (end - begin).total_seconds() if begin and end else None


ITEMS_PER_WINDOW = 40
"""About a hundred messages, since an answer and the results of its calls are one item."""
TEMPLATE_FUNCTIONS: dict[str, Any] = {
    "clock": render_time,
    "between": count_seconds_between,
    "count": amounts.format_count,
    "duration": amounts.format_seconds,
    "money": amounts.format_usd,
    "short": amounts.format_short_number,
    "folder_name": amounts.folder_name,
    "model_name": amounts.model_name,
}
"""The functions with which the session templates format amounts and times."""


class TurnRound(NamedTuple):
    """How a turn relates to the one before it."""

    name: RoundType
    words: str
    explanation: str


class TurnWork(NamedTuple):
    """A part of what a turn consists of."""

    words: str
    failed: int
    """How many of them failed."""


class TurnHeading(NamedTuple):
    chapter: Chapter
    address: str
    level: int
    title: str
    work: list[TurnWork]
    """What the turn consists of: `3 thoughts, 21 calls (1 failed), 1 sub-agent`."""
    round: TurnRound
    agent_cost_usd: float
    """What the sub-agents that it started cost."""

    @property
    def cost_usd(self) -> float:
        """What the turn cost, including its sub-agents."""
        return self.chapter.cost_usd + self.agent_cost_usd


class ForkWay(NamedTuple):
    """One of the branches at a fork."""

    title: str
    time: str | None
    address: str
    is_here: bool


class ForkSwitch(NamedTuple):
    """A fork, shown before the item with which this branch continues."""

    number: int
    """The number of this branch at the fork, from 1."""
    ways: list[ForkWay]


class WindowPiece(NamedTuple):
    """An item as HTML and what precedes it."""

    html: Markup
    heading: TurnHeading | None
    crossings: Sequence[ForkSwitch]
    rests: Sequence[ItemRest]


class TranscriptWindow(NamedTuple):
    """Some consecutive items."""

    n: int
    first: int
    pieces: list[WindowPiece]


def count_windows(transcript: TranscriptView) -> int:
    """Return the number of windows, at least one."""
    return max(-(-transcript.count // ITEMS_PER_WINDOW), 1)


def build_window(transcript: TranscriptView, n: int, *, level: int = 2) -> TranscriptWindow:
    """Build a window by its number; `level` is its heading level."""
    first = n * ITEMS_PER_WINDOW
    items = transcript.read_items(first, ITEMS_PER_WINDOW)
    if not items:
        return TranscriptWindow(n, first, [])
    excerpt = transcript.timeline.read_excerpt(items)
    headings = dict(_find_headings(transcript, first, len(items), level))
    crossings = _find_fork_switches(transcript, first, items, excerpt)
    parts = [
        cut_view(transcript, view, item)
        for view, item in zip(build_page_views(transcript, items, excerpt), items, strict=True)
    ]
    html = build_page_writer(transcript).write_each_view([part.view for part in parts])
    pieces = [
        WindowPiece(markup, headings.get(place), crossings.get(place, ()), part.rests)
        for place, (markup, part) in enumerate(zip(html, parts, strict=True), start=first)
    ]
    return TranscriptWindow(n, first, pieces)


def _find_headings(transcript: TranscriptView, first: int, count: int, level: int) -> Iterator[tuple[int, TurnHeading]]:
    start = bisect_left(transcript.chapters, first, key=lambda pair: pair[0])
    for position, chapter in transcript.chapters[start:]:
        if position >= first + count:
            return
        if chapter.turn:
            title, work = read_turn_title(chapter), list_turn_work(chapter, transcript.agents_by_turn[chapter.turn])
            link, turn_round = transcript.turn_link(chapter.turn), describe_round(transcript, chapter)
            agent_cost = transcript.agent_cost_by_turn.get(chapter.turn, 0.0)
            yield position, TurnHeading(chapter, link, level, title, work, turn_round, agent_cost)


def describe_round(transcript: TranscriptView, chapter: Chapter) -> TurnRound:
    """Say whether a turn starts the session, follows the turn before it, or resumes the session after a pause."""
    before = transcript.chapters_by_turn.get(chapter.turn - 1)
    if chapter.turn == 1:
        if transcript.agent is not None:
            return TurnRound("new_session", "task", "What the sub-agent was started for")
        return TurnRound("new_session", "new session", "The first turn of the session")
    seconds = count_seconds_between(before.ended if before else None, chapter.started)
    if seconds is None:
        return TurnRound("new_round", "new round", "When the turn before it ended is unknown")
    pause = amounts.format_seconds(max(seconds, 0))
    if seconds > transcript.gap.total_seconds():
        return TurnRound("resume", f"resumed after {pause}", f"The turn before it ended {pause} earlier")
    return TurnRound("new_round", "new round", f"Follows the turn before it after {pause}")


def list_turn_work(chapter: Chapter, agents: int = 0) -> list[TurnWork]:
    """List what a turn consists of, in words."""
    counts = [
        (chapter.thoughts, "thought", 0),
        (chapter.calls, "call", chapter.errors),
        (0 if chapter.calls else chapter.errors, "error", 0),
        (agents, "sub-agent", 0),
    ]
    return [TurnWork(amounts.format_count(count, noun), failed) for count, noun, failed in counts if count]


def _find_fork_switches(
    transcript: TranscriptView, first: int, items: list[TimelineItem], excerpt: Excerpt
) -> dict[int, list[ForkSwitch]]:
    """Return the forks whose next item on this branch is in the window, by that item's position."""
    turns = {item.turn for item in items}
    near = [fork for fork in transcript.head.forks if any(way.turn in turns for way in fork.ways)]
    owners = {place[0]: at for at, item in enumerate(items, start=first) for place in item.lines} if near else {}
    switches: dict[int, list[ForkSwitch]] = {}
    for fork in near:
        for place, way in enumerate(fork.ways):
            index = excerpt.session.file.by_uuid.get(way.key)
            position = None if index is None else owners.get(excerpt.find_offset(excerpt.session.file.entries[index]))
            if position is not None:
                switches.setdefault(position, []).append(
                    ForkSwitch(place + 1, _build_fork_ways(transcript, fork, place))
                )
                break
    return switches


def _build_fork_ways(transcript: TranscriptView, fork: Fork, here: int) -> list[ForkWay]:
    return [
        ForkWay(way.title, way.time, transcript.permalink(way.key, way.leaf), place == here)
        for place, way in enumerate(fork.ways)
    ]


def render_window(transcript: TranscriptView, n: int, *, level: int = 2) -> str:
    """Render a window without the page around it."""
    template = load_templates().get_template("session_window.html")
    return template.render(window=build_window(transcript, n, level=level), transcript=transcript, **TEMPLATE_FUNCTIONS)
