"""The timeline of a session: what there is to show, in which order, and where it stands in the file.

A timeline holds no texts but the first words of prompts, so that one of a session of 200 MB is small, can be kept,
and leads to any part of the session without reading the rest (`excerpt`).

Every entry of a session is in an item: as one of its lines, or as the result of one of its calls.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec import Struct

ItemKind = Literal["prompt", "typed", "answer", "event", "compaction", "meta"]
"""What an item is: what set off a turn, what was typed while it worked, a message of the model, something else that
happened, a compaction, or the client's book-keeping."""


class LinePlace(NamedTuple):
    """Where a line stands in the file."""

    offset: int
    size: int


class TimelineItem(Struct, array_like=True, gc=False):
    """Something that stands by itself in a timeline."""

    key: str
    """The uuid of its first line, else `@` and the line's offset."""
    kind: ItemKind
    time: str | None
    lines: list[LinePlace]
    """Its own lines in the order of the file."""
    results: list[LinePlace] = []
    """The lines with the results of its calls."""
    turn: int = 0
    """The number of its turn; 0: of none."""


class Chapter(Struct, array_like=True, gc=False):
    """A turn, or what stands between two turns: items that follow each other."""

    turn: int
    """The number of the turn; 0: of none."""
    first: int
    """The place of its first item among all items."""
    count: int
    kind: str = ""
    """Of the turn: one of session.turns.TURN_KINDS."""
    title: str = ""
    """How its prompt begins."""
    started: str | None = None
    ended: str | None = None
    duration_ms: int | None = None
    outcome: str = ""
    calls: int = 0
    errors: int = 0
    """Calls that failed, and API errors."""
    output: int = 0
    """Output tokens."""
    context: int = 0
    """What the window held at most, in tokens."""
    cost_usd: float = 0.0
    unpriced: bool = False
    """Whether something in it has no known price."""


class TimelineBranch(Struct, array_like=True, gc=False):
    """A branch: the chapters that lead to a leaf."""

    leaf: str
    chapters: list[int]
    is_current: bool = False
    """Whether the client would go on from it."""


class ForkPath(Struct, array_like=True, gc=False):
    """One of the ways that a conversation went on from a fork."""

    key: str
    """The item that it begins with."""
    leaf: str
    """Where it leads: the newest leaf below it."""
    turn: int
    time: str | None
    title: str


class Fork(Struct, array_like=True, gc=False):
    """Where a conversation goes on in several ways."""

    after: str
    """The uuid of the entry behind which it forks."""
    ways: list[ForkPath]


class TimelineAgent(Struct, array_like=True, gc=False):
    """A sub-agent and what it used."""

    agent_id: str
    kind: str
    type: str | None
    description: str | None
    call_id: str | None
    parent_agent_id: str | None
    started: str | None
    ended: str | None
    turn: int
    calls: int
    errors: int
    input: int
    output: int
    cost_usd: float
    incomplete: bool = False
    """Its own file is missing: only what the session's file repeats of it is known."""


class TimelineCompaction(Struct, array_like=True, gc=False):
    """A compaction."""

    key: str
    trigger: str | None
    before: int | None
    after: int | None
    entries: int
    preserved: int


class FillStep(Struct, array_like=True, gc=False):
    """How full the window was at one message."""

    item: int
    time: str | None
    context: int
    cache_read: int
    output: int
    cost_usd: float


class TimelineFile(Struct, array_like=True, gc=False):
    """A file, and the turns in which it was read and changed."""

    path: str
    reads: list[int]
    writes: list[int]


class TimelineHead(Struct, array_like=True):
    """Everything but the items."""

    session_id: str | None
    title: str | None
    items: int
    chapters: list[Chapter]
    branches: list[TimelineBranch]
    """The current one first; a session without a fork has one."""
    forks: list[Fork]
    agents: list[TimelineAgent]
    compactions: list[TimelineCompaction]
    files: list[TimelineFile]
    models: list[str]
    folders: list[str]
    versions: list[str]
    git_branches: list[str]
    started: str | None
    ended: str | None
    cost_usd: float
    """Of the session with its sub-agents."""
    unpriced_tokens: int
    """Of models without a known price; they are not in the cost."""
    output: int
    calls: int
    errors: int


class Timeline(Struct):
    """A session's timeline."""

    head: TimelineHead
    items: list[TimelineItem]
    steps: list[FillStep]
