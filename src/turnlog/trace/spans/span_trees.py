"""Session -> span trees: which spans exist, how they are nested, and which are final.

Each turn is a trace. Its first stretch is the root, an agent span; further stretches are agents below it. Answers
(generations) and calls (tools) are parts of their stretch, and a sub-agent is an agent below the call that started it.
`attributes` and `content` add what the spans contain.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct, structs

from turnlog.entries.entry import Entry
from turnlog.entries.reader import pause_garbage_collector
from turnlog.errors import Unreadable
from turnlog.session.agents import SubAgent
from turnlog.session.calls import AGENT_TOOLS, Call
from turnlog.session.failures import to_result_text
from turnlog.session.session import Session
from turnlog.session.usage.iterations import SeparateRequest
from turnlog.trace.spans import ids
from turnlog.trace.spans.actor_stream import ActorStream
from turnlog.trace.spans.parts import shorten_name
from turnlog.trace.spans.span import SessionSignals, SpanKind
from turnlog.trace.spans.span_times import SpanTimes
from turnlog.trace.spans.stretches import ActorWork, EndReport, StretchAnswer, WorkStretch

_LAUNCHED_TEXT = "Async agent launched"
"""The result text for a background agent; in sub-agents' files, some clients write nothing else."""


def iter_end_reports(
    agent: SubAgent, call: Call, caller: ActorStream, main: ActorStream, turn: Entry
) -> Iterator[EndReport]:
    """Yield when the end of a sub-agent was reported, and when the session had continued after the report."""
    reports = sorted(_iter_report_times(agent, call, caller, main))
    yield from (EndReport(report, certain=False) for report in reports)
    # An agent that was stopped doesn't rest. Only the start of the next turn shows that no line is still to
    # come.
    later = (work.start for work in main.works if work.start.index > turn.index and work.is_asked)
    if reports and (next_turn := next(later, None)) and (time := main.clock.read_time(next_turn)) is not None:
        yield from (EndReport(max(report, time), certain=True) for report in reports)


def _iter_report_times(agent: SubAgent, call: Call, caller: ActorStream, main: ActorStream) -> Iterator[int]:
    """Yield the times of the result of the sub-agent's call and of notifications."""
    if call.result is not None and not _is_launch_result(caller, call):
        yield from _iter_entry_time(caller, call.result)
    for stream in (main,) if caller is main else (main, caller):
        for notification in stream.notifications:
            if call.id == notification.notice.call_id or agent.agent_id == notification.notice.task_id:
                yield from _iter_entry_time(stream, notification.entry)


def _is_launch_result(caller: ActorStream, call: Call) -> bool:
    if call.name not in AGENT_TOOLS:
        return False
    detail = caller.session.read_detail(call)
    return detail.outcome == "launched" or to_result_text(detail.result).startswith(_LAUNCHED_TEXT)


def _iter_entry_time(stream: ActorStream, entry: Entry) -> Iterator[int]:
    if (time := stream.clock.read_time(entry)) is not None:
        yield time


MAIN_AGENT_NAME = "claude-code"
"""The label of the agent that the user talks to."""


class SpanNode(Struct):
    """A span without its content."""

    kind: SpanKind
    id: bytes
    parent: bytes | None
    nested: bytes | None
    """The parent if tools are placed below the generation that requested them."""
    name: str
    times: SpanTimes
    final: bool
    work: ActorWork
    stretch: WorkStretch
    answer: StretchAnswer | None = None
    """The answer of a generation."""
    request: SeparateRequest | None = None
    """The separately billed request of that answer, if the span is for this request and not for the answer itself."""
    call: Call | None = None
    """The call of a tool span."""
    agent: SubAgent | None = None
    """The sub-agent; None for the work of the session itself."""

    @property
    def session(self) -> Session:
        """The session that contains the span's entries."""
        return self.work.session

    @property
    def start(self) -> int:
        """When the span started, in nanoseconds since 1970."""
        return self.times.start

    @property
    def end(self) -> int:
        return self.times.end


class Trace(Struct):
    """One turn, or the work of a sub-agent that no call started."""

    id: bytes
    number: int
    """The number of the turn, or 0 if the trace isn't a turn."""
    start: Entry
    session: Session
    """The session itself, even for a sub-agent's trace."""
    work: ActorWork
    name: str
    nodes: list[SpanNode] = []
    settled: bool = True
    """Whether nothing more is expected in the trace, so that all its spans are final."""


class _CallPlace(NamedTuple):
    call: Call
    trace: Trace
    stream: ActorStream


class _AgentPlace(NamedTuple):
    """The place of a sub-agent's work in the tree."""

    top: bytes
    """The span of its first stretch."""
    parent: bytes | None


@pause_garbage_collector()
def build_session_traces(
    session: Session, signals: SessionSignals = SessionSignals(), *, first_turn: int = 1
) -> list[Trace]:
    """Build the traces of a session in file order; those of agents that were not started by a call come last."""
    # A file with only side-chain lines may yet continue with others; this is clear when the session is over.
    entries = session.entries if signals.over else [entry for entry in session.entries if not entry.is_sidechain]
    collector = _TraceCollector(session, signals, ActorStream(session, entries, first_turn=first_turn))
    collector.add_agents()
    return [trace for trace in collector.all if trace.nodes]


class _TraceCollector:
    def __init__(self, session: Session, signals: SessionSignals, main: ActorStream) -> None:
        self.all: list[Trace] = []
        self._session = session
        self._signals = signals
        self._main = main
        self._taken: set[bytes] = set()
        self._places: dict[str, _CallPlace] = {}
        if signals.over or (signals.at_rest and main.open is not None and main.open.at_rest):
            main.close(cut_off=signals.over)
        for work in main.works:
            trace = self._add_trace(session, work, f"Turn {work.number}" if work.number else MAIN_AGENT_NAME)
            self._add_work(trace, main, None, work)

    def add_agents(self) -> None:
        """Put each sub-agent below its call; the calls of sub-agents may also have sub-agents."""
        waiting = list(self._session.agents)
        while True:
            placed = [agent for agent in waiting if agent.call_id in self._places]
            if not placed:
                break
            waiting = [agent for agent in waiting if agent.call_id not in self._places]
            for agent in placed:
                self._add_agent(agent, self._places[agent.call_id or ""])
        for agent in waiting if self._signals.over else ():
            self._add_lonely_agent(agent)

    # -- sub-agents

    def _add_agent(self, agent: SubAgent, place: _CallPlace) -> None:
        ends = list(iter_end_reports(agent, place.call, place.stream, self._main, place.trace.start))
        if (stream := self._open_agent_stream(agent, ends)) is None:
            return
        resting = stream.open is not None and stream.open.at_rest
        if self._signals.over or (resting and agent.agent_id in self._signals.agents):
            stream.close(cut_off=self._signals.over)
        call = _to_global_key(place.stream.session, place.call.id)
        below = _AgentPlace(ids.build_agent_span_id(call, _name_agent(agent)), ids.build_tool_span_id(call))
        for work in stream.works:
            self._add_work(place.trace, stream, agent, work, below)
        if not (ends or self._signals.over or agent.agent_id in self._signals.agents):
            place.trace.settled = False

    def _add_lonely_agent(self, agent: SubAgent) -> None:
        """Add an agent that was not started by a call: the client's own side work, or one whose call is missing."""
        if (stream := self._open_agent_stream(agent, [])) is None:
            return
        stream.close(cut_off=True)
        for work in stream.works:
            trace = self._add_trace(stream.session, work, shorten_name(agent.type or agent.kind))
            self._add_work(trace, stream, agent, work)

    def _open_agent_stream(self, agent: SubAgent, ends: list[EndReport]) -> ActorStream | None:
        try:
            session = self._session.open_agent_session(agent)
        except Unreadable:
            return None  # deleted in the meantime
        return ActorStream(session, session.entries, is_agent=True, ends=ends)

    # -- nodes

    def _add_trace(self, session: Session, work: ActorWork, name: str) -> Trace:
        trace = Trace(
            ids.build_trace_id(_build_entry_key(session, work.start)),
            work.number,
            work.start,
            self._session,
            work,
            name,
        )
        self.all.append(trace)
        return trace

    def _add_work(
        self,
        trace: Trace,
        stream: ActorStream,
        agent: SubAgent | None,
        work: ActorWork,
        below: _AgentPlace | None = None,
    ) -> None:
        """Add the stretches of an actor's work to a trace; the first is the root or is below a call."""
        session = stream.session
        top, parent = below or _AgentPlace(ids.build_root_span_id(_build_entry_key(session, work.start)), None)
        name = f"invoke_agent {shorten_name(agent.type or agent.kind) if agent else MAIN_AGENT_NAME}"
        for place, stretch in enumerate(work.stretches):
            own = ids.build_root_span_id(_build_entry_key(session, stretch.start)) if place else top
            above = top if place else parent
            times = stream.clock.read_times(stretch.start, *_list_entries(stretch))
            self._add_node(
                trace, SpanNode("agent", own, above, above, name, times, stretch.closed, work, stretch, agent=agent)
            )
            for answer in stretch.answers:
                node = SpanNode(
                    "generation",
                    *_build_generation_frame(stream, answer, own),
                    answer.final,
                    work,
                    stretch,
                    answer,
                    agent=agent,
                )
                self._add_node(trace, node)
                self._add_separate_requests(trace, node)
            for call in stretch.calls:
                final = call.result is not None or stretch.closed
                node = SpanNode(
                    "tool",
                    *_build_tool_frame(stream, call, own, times.end),
                    final,
                    work,
                    stretch,
                    call=call,
                    agent=agent,
                )
                if self._add_node(trace, node):
                    self._places.setdefault(call.id, _CallPlace(call, trace, stream))
            trace.settled = trace.settled and stretch.closed

    def _add_separate_requests(self, trace: Trace, node: SpanNode) -> None:
        """Add an answer's separately billed requests, such as an advisor's, as generations below the answer's own."""
        answer = node.answer
        if answer is None or not answer.has_iterations:
            return
        for request in answer.message.separate_requests:
            own = ids.build_generation_span_id(_to_global_key(node.session, f"{answer.key}#{request.place}"))
            name = f"chat {shorten_name(request.model)}" if request.model else "chat"
            self._add_node(
                trace, structs.replace(node, id=own, parent=node.id, nested=node.id, name=name, request=request)
            )

    def _add_node(self, trace: Trace, node: SpanNode) -> bool:
        """Add a node unless it already exists; a line may be in two files."""
        if node.id in self._taken:
            return False
        self._taken.add(node.id)
        trace.nodes.append(node)
        return True


class _SpanFrame(NamedTuple):
    """A span without its content: the middle fields of a node."""

    id: bytes
    parent: bytes
    nested: bytes
    name: str
    times: SpanTimes


def _build_generation_frame(stream: ActorStream, answer: StretchAnswer, above: bytes) -> _SpanFrame:
    first = answer.lines[0]
    model = first.message.model if first.message and not first.is_api_error_message else None
    times = stream.clock.read_times(answer.before or first, answer.lines[-1])
    own = ids.build_generation_span_id(_to_global_key(stream.session, answer.key))
    return _SpanFrame(own, above, above, f"chat {shorten_name(model)}" if model else "chat", times)


def _build_tool_frame(stream: ActorStream, call: Call, above: bytes, end: int) -> _SpanFrame:
    if call.result is not None:
        times = stream.clock.read_times(call.line, call.result)
    else:
        start = stream.clock.read_times(call.line).start
        times = SpanTimes(start, max(start, end), borrowed=True)
    own = ids.build_tool_span_id(_to_global_key(stream.session, call.id))
    requested_by = ids.build_generation_span_id(_to_global_key(stream.session, call.message))
    return _SpanFrame(own, above, requested_by, f"execute_tool {shorten_name(call.name)}", times)


def _list_entries(stretch: WorkStretch) -> list[Entry]:
    """List the entries of a stretch's work, ending with the latest."""
    lines = [answer.lines[-1] for answer in stretch.answers]
    results = [call.result for call in stretch.calls if call.result is not None]
    return [*lines, *results, stretch.last]


def _name_agent(agent: SubAgent) -> str:
    """Return an identifier for an agent: its id or, for an agent inside the session's file, its first entry."""
    return agent.inside[0].uuid or agent.agent_id if agent.inside else agent.agent_id


def _build_entry_key(session: Session, entry: Entry) -> str:
    return entry.uuid or _to_global_key(session, f"@{entry.offset}")


def _to_global_key(session: Session, key: str) -> str:
    """Return a globally unique key; a key that is only a position in a file needs the session's id."""
    return f"{session.session_id}{key}" if key.startswith("@") else key
