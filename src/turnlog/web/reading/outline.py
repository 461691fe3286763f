"""What a session is made of, without its texts: what the outline, the minimap and other programs ask for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from turnlog.session.clock import to_epoch_seconds
from turnlog.session.timeline.timeline import Chapter
from turnlog.web.reading.transcript_view import TranscriptView, agent_address

_SUMMARY_PATTERN = re.compile(r"<summary>([^<]+)")
MAX_TURNS = 200
"""So many turns are told at once."""
STRIP_ROWS = 360
_PAUSE_SECONDS = 1800
_MAX_TITLE_CHARS = 120
"""So many characters of a prompt are enough for a row."""


class TurnOutline(Struct):
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


class BranchOutline(Struct):
    """One of the branches."""

    leaf: str
    turns: int
    is_current: bool


class CompactionOutline(Struct):
    """A compaction; its position is None where it is on another branch."""

    key: str
    position: int | None
    trigger: str | None
    before: int | None
    after: int | None


class AgentOutline(Struct):
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


class OutlineFile(Struct):
    """A file, and in how many turns it was read and changed."""

    path: str
    reads: int
    writes: int


class MinimapStrip(Struct):
    """The branch on a strip of equal rows, for a map of it."""

    tokens: list[int]
    """Output tokens."""
    errors: list[int]
    pauses: list[int]
    """The rows at which half an hour or more had passed since the turn before."""


class TurnList(Struct):
    """Some of the turns that fit a filter."""

    total: int
    """How many fit."""
    first: int
    turns: list[TurnOutline]


class SessionOutline(Struct):
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
    strip: MinimapStrip
    branches: list[BranchOutline]
    compactions: list[CompactionOutline]
    agents: list[AgentOutline]
    files: list[OutlineFile]
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


def read_turn_title(chapter: Chapter) -> str:
    """How a turn begins; of what background tasks report, what they say and not how it is wrapped."""
    if chapter.kind != "notification" or "<" not in chapter.title:
        return chapter.title
    told = _SUMMARY_PATTERN.search(chapter.title)
    return told[1].strip() if told else "A background task reported"


def build_outline(found: TranscriptView) -> SessionOutline:
    """The outline of a transcript."""
    head = found.head
    told = found.turns
    return SessionOutline(
        found.known.uuid,
        found.agent,
        head.title,
        found.kept.get_branch(found.leaf).leaf,
        found.count,
        [chapter.turn for _, chapter in told],
        [position for position, _ in told],
        build_minimap_strip(told, found.count),
        list(_list_branches(found)),
        list(_list_compactions(found)),
        list(list_agents(found)),
        [OutlineFile(file.path, len(file.reads), len(file.writes)) for file in head.files],
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


def list_turns(found: TranscriptView, wish: TurnFilter, first: int = 0, count: int = MAX_TURNS) -> TurnList:
    """The turns of a branch that fit a wish, or some of them."""
    fitting = [pair for pair in found.turns if wish.is_match(pair[1])]
    return TurnList(
        len(fitting), first, [_to_turn_outline(*pair) for pair in fitting[first : first + min(count, MAX_TURNS)]]
    )


class TurnFilter(NamedTuple):
    """Which turns are wanted."""

    words: tuple[str, ...] = ()
    """All of them stand in the title, in whatever case."""
    failed: bool = False
    touched: frozenset[int] | None = None
    """The numbers of the turns that touched a file."""

    def is_match(self, chapter: Chapter) -> bool:
        """Whether a turn is one of them."""
        if self.failed and not chapter.errors and chapter.outcome != "error":
            return False
        if self.touched is not None and chapter.turn not in self.touched:
            return False
        said = read_turn_title(chapter).lower() if self.words else ""
        return all(word in said for word in self.words)


def build_turn_filter(found: TranscriptView, words: str = "", file: str = "", *, failed: bool = False) -> TurnFilter:
    """A wish as somebody has put it."""
    use = next((use for use in found.head.files if use.path == file), None)
    touched = frozenset([*use.reads, *use.writes]) if use else frozenset[int]() if file else None
    return TurnFilter(tuple(words.lower().split()), failed, touched)


def _to_turn_outline(position: int, chapter: Chapter) -> TurnOutline:
    return TurnOutline(
        chapter.turn,
        position,
        chapter.count,
        chapter.kind,
        read_turn_title(chapter)[:_MAX_TITLE_CHARS],
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


def build_minimap_strip(told: Sequence[tuple[int, Chapter]], items: int, rows: int = STRIP_ROWS) -> MinimapStrip:
    """Turns on a strip, by the places of their items."""
    made = MinimapStrip([0] * rows, [0] * rows, [])
    before = 0
    for position, chapter in told:
        first = min(position * rows // max(items, 1), rows - 1)
        last = min((position + chapter.count - 1) * rows // max(items, 1), rows - 1)
        for row in range(first, last + 1):
            made.tokens[row] += chapter.output // (last - first + 1)
        made.errors[first] += chapter.errors
        began = to_epoch_seconds(chapter.started)
        if before and began - before >= _PAUSE_SECONDS and made.pauses[-1:] != [first]:
            made.pauses.append(first)
        before = to_epoch_seconds(chapter.ended or chapter.started) or before
    return made


def _list_branches(found: TranscriptView) -> Iterator[BranchOutline]:
    is_turn = [chapter.turn > 0 for chapter in found.head.chapters]
    for line in found.head.branches:
        yield BranchOutline(line.leaf, sum(is_turn[place] for place in line.chapters), line.is_current)


def list_agents(found: TranscriptView) -> Iterator[AgentOutline]:
    """The sub-agents of a session, or those that a sub-agent started."""
    for item in found.main.agents:
        if found.agent is None or item.parent_agent_id == found.agent:
            yield AgentOutline(
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


def _list_compactions(found: TranscriptView) -> Iterator[CompactionOutline]:
    for item in found.head.compactions:
        yield CompactionOutline(item.key, found.compactions.get(item.key), item.trigger, item.before, item.after)
