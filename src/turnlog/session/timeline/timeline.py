"""The timeline of a session: the items to show, their order, and their places in the file.

A timeline contains no text except the first words of prompts. Therefore, even the timeline of a 200 MB session is small
enough to keep, and any part of the session can be read without the rest (`excerpt`).

Every entry in a session is part of an item, either as one of its lines or as the result of one of its calls.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec import Struct

from turnlog.session.client_totals import ClientTotals

ItemKind = Literal["prompt", "typed", "answer", "event", "compaction", "meta"]
"""What an item is: the start of a turn, text typed while the turn was running, a message from the model, another event,
a compaction, or the client's bookkeeping."""


class LinePlace(NamedTuple):
    """The position of a line in the file."""

    offset: int
    size: int


class TimelineItem(Struct, array_like=True, gc=False):
    """One item in a timeline, shown as a unit."""

    key: str
    """The uuid of its first line, or `@` and the line's offset."""
    kind: ItemKind
    time: str | None
    lines: list[LinePlace]
    """Its own lines in file order."""
    results: list[LinePlace] = []
    """The lines with the results of its calls."""
    turn: int = 0
    """The number of its turn; 0 if it has none."""


class Chapter(Struct, array_like=True, gc=False):
    """A run of consecutive items: a turn, or whatever is between two turns."""

    turn: int
    """The number of the turn; 0 if it has none."""
    first: int
    """The position of its first item among all items."""
    count: int
    kind: str = ""
    """The kind of the turn, one of session.turns.TURN_KINDS."""
    title: str = ""
    """The start of its prompt."""
    started: str | None = None
    ended: str | None = None
    duration_ms: int | None = None
    outcome: str = ""
    calls: int = 0
    errors: int = 0
    """The number of failed calls and API errors."""
    output: int = 0
    """The output tokens."""
    context: int = 0
    """The largest number of tokens in the context window."""
    cost_usd: float = 0.0
    unpriced: bool = False
    """Whether part of it has no known price."""
    thoughts: int = 0
    """The number of blocks of thinking."""


class TimelineBranch(Struct, array_like=True, gc=False):
    """The chapters that lead to one leaf."""

    leaf: str
    chapters: list[int]
    is_current: bool = False
    """Whether the client would continue from it."""
    number: int = 0
    """The number by which commands know the branch; 0 if it has none."""


class ForkPath(Struct, array_like=True, gc=False):
    """One continuation of the conversation at a fork."""

    key: str
    """The item that it starts with."""
    leaf: str
    """The newest leaf below it."""
    turn: int
    time: str | None
    title: str


class Fork(Struct, array_like=True, gc=False):
    """A point at which a conversation has several continuations."""

    after: str
    """The uuid of the entry after which it forks."""
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
    """Whether its own file is missing, so that only what the session's file repeats is known."""
    models: list[str] = []
    outcome: str = ""
    """finished, error (its last message is one), open (it ends in the middle of its work), or empty if unknown."""


class TimelineCompaction(Struct, array_like=True, gc=False):
    key: str
    trigger: str | None
    before: int | None
    after: int | None
    entries: int
    preserved: int


class FillStep(Struct, array_like=True, gc=False):
    """How full the context window was at one message."""

    item: int
    time: str | None
    context: int
    cache_read: int
    output: int
    cost_usd: float


class TimelineFile(Struct, array_like=True, gc=False):
    """A file, with the turns that read it and those that changed it."""

    path: str
    reads: list[int]
    writes: list[int]


class TimelineHead(Struct, array_like=True):
    """Everything in a timeline except the items."""

    session_id: str | None
    title: str | None
    items: int
    chapters: list[Chapter]
    branches: list[TimelineBranch]
    """The branches, with the current one first; a session without a fork has only one."""
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
    """The cost of the session with its sub-agents."""
    unpriced_tokens: int
    """Tokens of models without a known price; the cost does not include them."""
    output: int
    calls: int
    errors: int
    client_totals: ClientTotals | None = None
    """The client's own totals, compared with the messages."""

    def sum_agent_costs(self) -> dict[int, float]:
        """Add up what the sub-agents that each turn started cost, in dollars."""
        costs: dict[int, float] = {}
        for agent in self.agents:
            costs[agent.turn] = costs.get(agent.turn, 0.0) + agent.cost_usd
        return costs


class Timeline(Struct):
    head: TimelineHead
    items: list[TimelineItem]
    steps: list[FillStep]
