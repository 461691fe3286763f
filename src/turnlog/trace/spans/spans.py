"""Session -> span trees: which spans there are, how they hang together, and which of them are final.

One trace for each turn. Its first stretch is the root, an agent span; further stretches are agents below it. Answers
(generations) and calls (tools) are parts of their stretch, and a sub-agent is an agent below the call that started it.
What the spans say is left to `attributes` and `content`.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct, structs

from turnlog.entries.entry import Entry
from turnlog.entries.reader import collector_off
from turnlog.errors import Unreadable
from turnlog.session.agents import Agent
from turnlog.session.calls import Call
from turnlog.session.session import Session
from turnlog.session.usage.iterations import SeparateRequest
from turnlog.trace.spans import ids
from turnlog.trace.spans.parts import short
from turnlog.trace.spans.reports import reported
from turnlog.trace.spans.span import Kind, Told
from turnlog.trace.spans.stream import Stream
from turnlog.trace.spans.stretches import Answer, EndReport, Stretch, Work
from turnlog.trace.spans.timing import Times

MAIN = "claude-code"
"""The agent that a person talks to."""


class Node(Struct):
    """A span before it is put into words."""

    kind: Kind
    id: bytes
    parent: bytes | None
    nested: bytes | None
    """The parent where tools stand below the generation that asked for them."""
    name: str
    times: Times
    final: bool
    work: Work
    stretch: Stretch
    answer: Answer | None = None
    """What a generation brought."""
    request: SeparateRequest | None = None
    """What was billed beside that answer, where the span is for this and not for the answer itself."""
    call: Call | None = None
    """What a tool was asked."""
    agent: Agent | None = None
    """The sub-agent; None for what the session itself did."""

    @property
    def session(self) -> Session:
        """Where its entries are."""
        return self.work.session

    @property
    def start(self) -> int:
        """When it began, in nanoseconds since 1970."""
        return self.times.start

    @property
    def end(self) -> int:
        """When it ended."""
        return self.times.end


class Trace(Struct):
    """One turn, or the work of a sub-agent that no call started."""

    id: bytes
    number: int
    """The number of the turn; 0 if it is none."""
    start: Entry
    session: Session
    """The session itself, also for a sub-agent's trace."""
    work: Work
    name: str
    nodes: list[Node] = []
    settled: bool = True
    """Nothing more is expected in it: all its spans are final."""


class _Place(NamedTuple):
    """Where a call stands."""

    call: Call
    trace: Trace
    stream: Stream


class _Below(NamedTuple):
    """Where the work of a sub-agent hangs."""

    top: bytes
    """The span of its first stretch."""
    parent: bytes | None


@collector_off()
def traces(session: Session, told: Told = Told(), *, first_turn: int = 1) -> list[Trace]:  # noqa: B008 - a value
    """The traces of a session in the order of the file; those of agents that no call started come last."""
    # A file whose every line is a side chain may be one that only begins with them: that shows when it is over.
    entries = session.entries if told.over else [entry for entry in session.entries if not entry.is_sidechain]
    found = _Traces(session, told, Stream(session, entries, first_turn=first_turn))
    found.add_agents()
    return [trace for trace in found.all if trace.nodes]


class _Traces:
    """Collects the traces of one session."""

    def __init__(self, session: Session, told: Told, main: Stream) -> None:
        self.all: list[Trace] = []
        self._session = session
        self._told = told
        self._main = main
        self._taken: set[bytes] = set()
        self._places: dict[str, _Place] = {}
        if told.over or (told.at_rest and main.open is not None and main.open.at_rest):
            main.close(cut_off=told.over)
        for work in main.works:
            trace = self._trace(session, work, f"Turn {work.number}" if work.number else MAIN)
            self._add(trace, main, None, work)

    def add_agents(self) -> None:
        """Put each sub-agent below its call; calls of sub-agents have sub-agents in their turn."""
        waiting = list(self._session.agents)
        while True:
            placed = [agent for agent in waiting if agent.call_id in self._places]
            if not placed:
                break
            waiting = [agent for agent in waiting if agent.call_id not in self._places]
            for agent in placed:
                self._add_agent(agent, self._places[agent.call_id or ""])
        for agent in waiting if self._told.over else ():
            self._add_lonely(agent)

    # -- sub-agents

    def _add_agent(self, agent: Agent, place: _Place) -> None:
        ends = list(reported(agent, place.call, place.stream, self._main, place.trace.start))
        if (stream := self._stream(agent, ends)) is None:
            return
        resting = stream.open is not None and stream.open.at_rest
        if self._told.over or (resting and agent.agent_id in self._told.agents):
            stream.close(cut_off=self._told.over)
        call = _global(place.stream.session, place.call.id)
        below = _Below(ids.agent(call, _name(agent)), ids.tool(call))
        for work in stream.works:
            self._add(place.trace, stream, agent, work, below)
        if not (ends or self._told.over or agent.agent_id in self._told.agents):
            place.trace.settled = False

    def _add_lonely(self, agent: Agent) -> None:
        """An agent that no call started: the client's own side work, or one whose call is not there."""
        if (stream := self._stream(agent, [])) is None:
            return
        stream.close(cut_off=True)
        for work in stream.works:
            trace = self._trace(stream.session, work, short(agent.type or agent.kind))
            self._add(trace, stream, agent, work)

    def _stream(self, agent: Agent, ends: list[EndReport]) -> Stream | None:
        try:
            session = self._session.agent_session(agent)
        except Unreadable:
            return None  # deleted meanwhile
        return Stream(session, session.entries, is_agent=True, ends=ends)

    # -- nodes

    def _trace(self, session: Session, work: Work, name: str) -> Trace:
        trace = Trace(ids.trace(_key(session, work.start)), work.number, work.start, self._session, work, name)
        self.all.append(trace)
        return trace

    def _add(self, trace: Trace, stream: Stream, agent: Agent | None, work: Work, below: _Below | None = None) -> None:
        """Put the stretches of some work into a trace: the first is the root, or stands below a call."""
        session = stream.session
        top, parent = below or _Below(ids.root(_key(session, work.start)), None)
        name = f"invoke_agent {short(agent.type or agent.kind) if agent else MAIN}"
        for place, stretch in enumerate(work.stretches):
            own = ids.root(_key(session, stretch.start)) if place else top
            above = top if place else parent
            times = stream.clock.times(stretch.start, *_entries(stretch))
            self._put(trace, Node("agent", own, above, above, name, times, stretch.closed, work, stretch, agent=agent))
            for answer in stretch.answers:
                node = Node(
                    "generation", *_generation(stream, answer, own), answer.final, work, stretch, answer, agent=agent
                )
                self._put(trace, node)
                self._add_separate(trace, node)
            for call in stretch.calls:
                final = call.result is not None or stretch.closed
                node = Node("tool", *_tool(stream, call, own, times.end), final, work, stretch, call=call, agent=agent)
                if self._put(trace, node):
                    self._places.setdefault(call.id, _Place(call, trace, stream))
            trace.settled = trace.settled and stretch.closed

    def _add_separate(self, trace: Trace, node: Node) -> None:
        """Add what was billed beside an answer, such as an advisor's: a generation below that of the answer."""
        answer = node.answer
        if answer is None or not answer.has_iterations:
            return
        for request in answer.message.separate_requests:
            own = ids.generation(_global(node.session, f"{answer.key}#{request.place}"))
            name = f"chat {short(request.model)}" if request.model else "chat"
            self._put(trace, structs.replace(node, id=own, parent=node.id, nested=node.id, name=name, request=request))

    def _put(self, trace: Trace, node: Node) -> bool:
        """Add a node unless it is there already: a line may stand in two files."""
        if node.id in self._taken:
            return False
        self._taken.add(node.id)
        trace.nodes.append(node)
        return True


class _Frame(NamedTuple):
    """What a span is, apart from its content: the middle of a node."""

    id: bytes
    parent: bytes
    nested: bytes
    name: str
    times: Times


def _generation(stream: Stream, answer: Answer, above: bytes) -> _Frame:
    first = answer.lines[0]
    model = first.message.model if first.message and not first.is_api_error_message else None
    times = stream.clock.times(answer.before or first, answer.lines[-1])
    own = ids.generation(_global(stream.session, answer.key))
    return _Frame(own, above, above, f"chat {short(model)}" if model else "chat", times)


def _tool(stream: Stream, call: Call, above: bytes, end: int) -> _Frame:
    if call.result is not None:
        times = stream.clock.times(call.line, call.result)
    else:
        start = stream.clock.times(call.line).start
        times = Times(start, max(start, end), borrowed=True)
    own = ids.tool(_global(stream.session, call.id))
    asked_by = ids.generation(_global(stream.session, call.message))
    return _Frame(own, above, asked_by, f"execute_tool {short(call.name)}", times)


def _entries(stretch: Stretch) -> list[Entry]:
    """What its work consists of, the last entry last."""
    lines = [answer.lines[-1] for answer in stretch.answers]
    results = [call.result for call in stretch.calls if call.result is not None]
    return [*lines, *results, stretch.last]


def _name(agent: Agent) -> str:
    """What tells an agent from others: its id, or for one inside the session's file its first entry."""
    return agent.inside[0].uuid or agent.agent_id if agent.inside else agent.agent_id


def _key(session: Session, entry: Entry) -> str:
    return entry.uuid or _global(session, f"@{entry.offset}")


def _global(session: Session, key: str) -> str:
    """A key that is the same everywhere; one that is only a place in a file needs the file's name."""
    return f"{session.session_id}{key}" if key.startswith("@") else key
