"""The structure of a session without its text, for the outline, the minimap and other programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from turnlog.render.phrases import read_turn_title
from turnlog.session.clock import to_epoch_seconds
from turnlog.session.timeline.timeline import Chapter, TimelineAgent
from turnlog.web.reading.transcript_view import TranscriptView, agent_address

MAX_TURNS = 200
"""The maximum number of turns in one response."""
STRIP_ROWS = 360
_PAUSE_SECONDS = 1800
_MAX_TITLE_CHARS = 120
"""The part of a prompt that fits in an outline row."""


class TurnOutline(Struct):
    number: int
    position: int
    """The position of its first item in the branch."""
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
    agents_cost_usd: float
    """What the sub-agents that it started cost, which `cost_usd` excludes."""


class BranchOutline(Struct):
    leaf: str
    turns: int
    is_current: bool


class CompactionOutline(Struct):
    """A compaction; `position` is None if it is on a different branch."""

    key: str
    position: int | None
    trigger: str | None
    before: int | None
    after: int | None


class AgentOutline(Struct):
    """A sub-agent; `turn` is the turn that started it, and `call_id` is the id of the call, if known."""

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
    models: list[str]
    outcome: str
    """finished, error, open, or empty if unknown."""
    incomplete: bool
    """Whether its own file is missing, so that only what the session's file repeats is known."""


class OutlineFile(Struct):
    """A file, with the number of turns that read it and the number that changed it."""

    path: str
    reads: int
    writes: int


class MinimapStrip(Struct):
    """The branch divided into equal rows, for the minimap."""

    tokens: list[int]
    """Output tokens in each row."""
    errors: list[int]
    pauses: list[int]
    """Rows that start at least half an hour after the previous turn."""


class TurnList(Struct):
    """One page of the turns that match a filter."""

    total: int
    """How many turns match."""
    first: int
    turns: list[TurnOutline]


class SessionOutline(Struct):
    """The outline of a session or a sub-agent."""

    session_id: str
    agent_id: str | None
    title: str | None
    branch: str
    items: int
    """The number of items in this branch."""
    turn_total: int
    """The number of turns on all branches."""
    numbers: list[int]
    """The numbers of this branch's turns, in order."""
    positions: list[int]
    """The position of each turn's first item."""
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
    """Tokens from models without a known price; the cost excludes them."""


def build_outline(transcript: TranscriptView) -> SessionOutline:
    head = transcript.head
    turns = transcript.turns
    return SessionOutline(
        transcript.session.uuid,
        transcript.agent,
        head.title,
        transcript.timeline.get_branch(transcript.leaf).leaf,
        transcript.count,
        transcript.turn_total,
        [chapter.turn for _, chapter in turns],
        [position for position, _ in turns],
        build_minimap_strip(turns, transcript.count),
        list(_list_branches(transcript)),
        list(_list_compactions(transcript)),
        list(list_agents(transcript)),
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


def list_turns(transcript: TranscriptView, turn_filter: TurnFilter, first: int = 0, count: int = MAX_TURNS) -> TurnList:
    """Return one page of the turns that match a filter."""
    matches = [pair for pair in transcript.turns if turn_filter.is_match(pair[1])]
    return TurnList(
        len(matches),
        first,
        [_to_turn_outline(transcript, *pair) for pair in matches[first : first + min(count, MAX_TURNS)]],
    )


class TurnFilter(NamedTuple):
    words: tuple[str, ...] = ()
    """Words that must all occur in the title; case is ignored."""
    failed: bool = False
    touched: frozenset[int] | None = None
    """The numbers of the turns that touched the chosen file."""

    def is_match(self, chapter: Chapter) -> bool:
        if self.failed and not chapter.errors and chapter.outcome != "error":
            return False
        if self.touched is not None and chapter.turn not in self.touched:
            return False
        title = read_turn_title(chapter).lower() if self.words else ""
        return all(word in title for word in self.words)


def build_turn_filter(
    transcript: TranscriptView, words: str = "", file: str = "", *, failed: bool = False
) -> TurnFilter:
    """Build a filter from the values of a request."""
    use = next((use for use in transcript.head.files if use.path == file), None)
    touched = frozenset([*use.reads, *use.writes]) if use else frozenset[int]() if file else None
    return TurnFilter(tuple(words.lower().split()), failed, touched)


def _to_turn_outline(transcript: TranscriptView, position: int, chapter: Chapter) -> TurnOutline:
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
        transcript.agent_cost_by_turn.get(chapter.turn, 0.0),
    )


def build_minimap_strip(turns: Sequence[tuple[int, Chapter]], items: int, rows: int = STRIP_ROWS) -> MinimapStrip:
    """Distribute turns over the rows of a strip, by the positions of their items."""
    strip = MinimapStrip([0] * rows, [0] * rows, [])
    before = 0
    for position, chapter in turns:
        first = min(position * rows // max(items, 1), rows - 1)
        last = min((position + chapter.count - 1) * rows // max(items, 1), rows - 1)
        for row in range(first, last + 1):
            strip.tokens[row] += chapter.output // (last - first + 1)
        strip.errors[first] += chapter.errors
        started = to_epoch_seconds(chapter.started)
        if before and started - before >= _PAUSE_SECONDS and strip.pauses[-1:] != [first]:
            strip.pauses.append(first)
        before = to_epoch_seconds(chapter.ended or chapter.started) or before
    return strip


def _list_branches(transcript: TranscriptView) -> Iterator[BranchOutline]:
    is_turn = [chapter.turn > 0 for chapter in transcript.head.chapters]
    for line in transcript.head.branches:
        yield BranchOutline(line.leaf, sum(is_turn[place] for place in line.chapters), line.is_current)


def list_agents(transcript: TranscriptView) -> Iterator[AgentOutline]:
    """Yield the sub-agents of a session, or those that a sub-agent started."""
    for item in transcript.main.agents:
        if transcript.agent is None or item.parent_agent_id == transcript.agent:
            yield _to_agent_outline(transcript, item)


def _to_agent_outline(transcript: TranscriptView, item: TimelineAgent) -> AgentOutline:
    return AgentOutline(
        item.agent_id,
        agent_address(transcript.session.ref, item.agent_id),
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
        item.models,
        item.outcome,
        item.incomplete,
    )


MAX_TREE_AGENTS = 500
"""The page lists this many sub-agents at a time: the browser lays them out within 100 ms."""
MAX_TREE_LEVELS = 12
"""Sub-agents below this level, or in a circle, are listed at the top."""


class AgentBranch(NamedTuple):
    """A sub-agent with those that it started."""

    agent: AgentOutline
    children: list[AgentBranch]


class AgentTree(NamedTuple):
    """One page of the sub-agents of a transcript, in time order."""

    roots: list[AgentBranch]
    """Those of the page that no other one on the page started."""
    total: int
    end: int
    """How many have been listed up to the end of this page."""

    @property
    def left_out(self) -> int:
        """How many newer ones are on later pages."""
        return self.total - self.end


def build_agent_tree(transcript: TranscriptView, first: int = 0) -> AgentTree:
    """Nest one page of the sub-agents below those that started them, from a place in time order on."""
    agents = sorted(_list_own_agents(transcript), key=lambda agent: to_epoch_seconds(agent.started) or 0.0)
    end = min(first + MAX_TREE_AGENTS, len(agents))
    known = {agent.agent_id: AgentBranch(agent, []) for agent in agents[first:end]}
    roots: list[AgentBranch] = []
    for branch in known.values():
        parent = known.get(branch.agent.parent_agent_id or "")
        is_rooted = parent is None or _count_levels_above(branch, known) > MAX_TREE_LEVELS
        (roots if is_rooted or parent is None else parent.children).append(branch)
    return AgentTree(roots, len(agents), end)


def _list_own_agents(transcript: TranscriptView) -> list[AgentOutline]:
    """List all sub-agents of a session, or all descendants of a sub-agent."""
    agents = list(list_agents(transcript))
    if transcript.agent is None:
        return agents
    everyone = [_to_agent_outline(transcript, item) for item in transcript.main.agents]
    found = {agent.agent_id: agent for agent in agents}
    while more := [a for a in everyone if a.parent_agent_id in found and a.agent_id not in found]:
        found |= {agent.agent_id: agent for agent in more}
    return list(found.values())


def _count_levels_above(branch: AgentBranch, known: dict[str, AgentBranch]) -> int:
    """Count the ancestors of a sub-agent, up to one more than are nested: files may name each other in a circle."""
    levels = 0
    up = known.get(branch.agent.parent_agent_id or "")
    while up is not None and levels <= MAX_TREE_LEVELS:
        levels += 1
        up = known.get(up.agent.parent_agent_id or "")
    return levels


def _list_compactions(transcript: TranscriptView) -> Iterator[CompactionOutline]:
    for item in transcript.head.compactions:
        yield CompactionOutline(item.key, transcript.compactions.get(item.key), item.trigger, item.before, item.after)
