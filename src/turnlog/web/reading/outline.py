"""What a session is made of, without its texts: what the outline, the minimap and other programs ask for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from turnlog.session.clock import seconds
from turnlog.session.timeline.timeline import Chapter
from turnlog.web.reading.transcript import Transcript, agent_address

_SUMMARY = re.compile(r"<summary>([^<]+)")
MOST = 200
"""So many turns are told at once."""
ROWS = 360
_PAUSE = 1800
_TITLE = 120
"""So many characters of a prompt are enough for a row."""


class Turn(Struct):
    """A turn of the branch."""

    number: int
    position: int
    """Of its first item in the branch."""
    items: int
    kind: str
    title: str
    started: str | None
    ended: str | None
    duration_ms: int | None
    outcome: str
    calls: int
    errors: int
    output: int
    context: int
    cost_usd: float
    is_unpriced: bool


class Branch(Struct):
    """One of the branches."""

    leaf: str
    turns: int
    is_current: bool


class Compacted(Struct):
    """A compaction; its position is None where it is on another branch."""

    key: str
    position: int | None
    trigger: str | None
    before: int | None
    after: int | None


class Agent(Struct):
    """A sub-agent; `turn` is the one that started it, `call_id` the call, if one is known."""

    agent_id: str
    address: str
    type: str | None
    description: str | None
    call_id: str | None
    parent_agent_id: str | None
    turn: int
    started: str | None
    ended: str | None
    calls: int
    errors: int
    input: int
    output: int
    cost_usd: float
    incomplete: bool
    """Its own file is missing: only what the session's file repeats of it is known."""


class File(Struct):
    """A file, and in how many turns it was read and changed."""

    path: str
    reads: int
    writes: int


class Strip(Struct):
    """The branch on a strip of equal rows, for a map of it."""

    tokens: list[int]
    """Output tokens."""
    errors: list[int]
    pauses: list[int]
    """The rows at which half an hour or more had passed since the turn before."""


class Turns(Struct):
    """Some of the turns that fit a filter."""

    total: int
    """How many fit."""
    first: int
    turns: list[Turn]


class Outline(Struct):
    """A session, or a sub-agent, as an outline."""

    session_id: str
    agent_id: str | None
    title: str | None
    branch: str
    items: int
    """Of this branch."""
    numbers: list[int]
    """Of the turns of this branch, in order."""
    positions: list[int]
    """Of their first items."""
    strip: Strip
    branches: list[Branch]
    compactions: list[Compacted]
    agents: list[Agent]
    files: list[File]
    models: list[str]
    folders: list[str]
    versions: list[str]
    git_branches: list[str]
    started: str | None
    ended: str | None
    calls: int
    errors: int
    output: int
    cost_usd: float
    unpriced_tokens: int
    """Of models without a known price; they are not in the cost."""


def title(chapter: Chapter) -> str:
    """How a turn begins; of what background tasks report, what they say and not how it is wrapped."""
    if chapter.kind != "notification" or "<" not in chapter.title:
        return chapter.title
    told = _SUMMARY.search(chapter.title)
    return told[1].strip() if told else "A background task reported"


def outline(found: Transcript) -> Outline:
    """The outline of a transcript."""
    head = found.head
    told = found.turns
    return Outline(
        found.known.uuid,
        found.agent,
        head.title,
        found.kept.branch(found.leaf).leaf,
        found.count,
        [chapter.turn for _, chapter in told],
        [position for position, _ in told],
        strip(told, found.count),
        list(_branches(found)),
        list(_compactions(found)),
        list(agents(found)),
        [File(file.path, len(file.reads), len(file.writes)) for file in head.files],
        head.models,
        head.folders,
        head.versions,
        head.git_branches,
        head.started,
        head.ended,
        head.calls,
        head.errors,
        head.output,
        head.cost_usd,
        head.unpriced_tokens,
    )


def turns(found: Transcript, wish: Wish, first: int = 0, count: int = MOST) -> Turns:
    """The turns of a branch that fit a wish, or some of them."""
    fitting = [pair for pair in found.turns if wish.fits(pair[1])]
    return Turns(len(fitting), first, [_turn(*pair) for pair in fitting[first : first + min(count, MOST)]])


class Wish(NamedTuple):
    """Which turns are wanted."""

    words: tuple[str, ...] = ()
    """All of them stand in the title, in whatever case."""
    failed: bool = False
    touched: frozenset[int] | None = None
    """The numbers of the turns that touched a file."""

    def fits(self, chapter: Chapter) -> bool:
        """Whether a turn is one of them."""
        if self.failed and not chapter.errors and chapter.outcome != "error":
            return False
        if self.touched is not None and chapter.turn not in self.touched:
            return False
        said = title(chapter).lower() if self.words else ""
        return all(word in said for word in self.words)


def wished(found: Transcript, words: str = "", file: str = "", *, failed: bool = False) -> Wish:
    """A wish as somebody has put it."""
    use = next((use for use in found.head.files if use.path == file), None)
    touched = frozenset([*use.reads, *use.writes]) if use else frozenset[int]() if file else None
    return Wish(tuple(words.lower().split()), failed, touched)


def _turn(position: int, chapter: Chapter) -> Turn:
    return Turn(
        chapter.turn,
        position,
        chapter.count,
        chapter.kind,
        title(chapter)[:_TITLE],
        chapter.started,
        chapter.ended,
        chapter.duration_ms,
        chapter.outcome,
        chapter.calls,
        chapter.errors,
        chapter.output,
        chapter.context,
        chapter.cost_usd,
        chapter.unpriced,
    )


def strip(told: Sequence[tuple[int, Chapter]], items: int, rows: int = ROWS) -> Strip:
    """Turns on a strip, by the places of their items."""
    made = Strip([0] * rows, [0] * rows, [])
    before = 0
    for position, chapter in told:
        first = min(position * rows // max(items, 1), rows - 1)
        last = min((position + chapter.count - 1) * rows // max(items, 1), rows - 1)
        for row in range(first, last + 1):
            made.tokens[row] += chapter.output // (last - first + 1)
        made.errors[first] += chapter.errors
        began = seconds(chapter.started)
        if before and began - before >= _PAUSE and made.pauses[-1:] != [first]:
            made.pauses.append(first)
        before = seconds(chapter.ended or chapter.started) or before
    return made


def _branches(found: Transcript) -> Iterator[Branch]:
    is_turn = [chapter.turn > 0 for chapter in found.head.chapters]
    for line in found.head.branches:
        yield Branch(line.leaf, sum(is_turn[place] for place in line.chapters), line.is_current)


def agents(found: Transcript) -> Iterator[Agent]:
    """The sub-agents of a session, or those that a sub-agent started."""
    for item in found.main.agents:
        if found.agent is None or item.parent_agent_id == found.agent:
            yield Agent(
                item.agent_id,
                agent_address(found.known.ref, item.agent_id),
                item.type,
                item.description,
                item.call_id,
                item.parent_agent_id,
                item.turn,
                item.started,
                item.ended,
                item.calls,
                item.errors,
                item.input,
                item.output,
                item.cost_usd,
                item.incomplete,
            )


def _compactions(found: Transcript) -> Iterator[Compacted]:
    for item in found.head.compactions:
        yield Compacted(item.key, found.compactions.get(item.key), item.trigger, item.before, item.after)
