"""Builds a session's spans as a tracing backend receives them; never opens an outbox."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from turnlog.api.config import Config, load_config
from turnlog.api.lookup import Notify
from turnlog.errors import NotFound
from turnlog.trace.session_tail import open_traced_session
from turnlog.trace.spans.attributes import build_span
from turnlog.trace.spans.content import ContentLevel, ContentPolicy, SpanContents
from turnlog.trace.spans.span import SessionSignals, Span
from turnlog.trace.spans.span_trees import Trace, build_session_traces
from turnlog.trace.wire.otlp import to_readable_spans
from turnlog.work_progress import report_items


class SessionSpan(Struct, frozen=True):
    """A span with all the data that is sent."""

    trace: str
    span: str
    parent: str | None
    kind: str
    """agent, generation or tool."""
    name: str
    start: str
    """To the nanosecond."""
    end: str
    error: str | None
    attributes: Mapping[str, Any]
    """The attributes, by their OpenTelemetry names."""


class TurnTrace(Struct, frozen=True):
    """The trace of a turn, or of a sub-agent without a call."""

    trace: str
    turn: int | None
    name: str
    spans: tuple[SessionSpan, ...]


class SessionTraces(Struct, frozen=True):
    """The traces of a session."""

    traces: tuple[TurnTrace, ...]


@contextmanager
def open_traces(
    session: str | Path, turn: int | None = None, *, config: Config | None = None, notify: Notify | None = None
) -> Iterator[list[Trace]]:
    """Build the span trees of a session, or of one turn; they can be read only while the context manager is open."""
    from turnlog.api.traceable import find_traceable

    with open_traced_session(find_traceable(session, config or load_config(), notify)) as opened:
        trees = build_session_traces(opened, SessionSignals(over=True))
        wanted = [trace for trace in trees if turn in (None, trace.number)]
        if turn is not None and not wanted:
            raise NotFound(f"turn {turn} has no trace; `turnlog trace show {session}` shows all turns")
        yield wanted


def trace_session(
    session: str | Path,
    *,
    turn: int | None = None,
    nest: bool = False,
    content: ContentLevel = "redacted",
    config: Config | None = None,
    notify: Notify | None = None,
) -> SessionTraces:
    """Build the spans of a session as a tracing backend receives them, without sending them; no target is needed.

    `nest` puts calls under the generation that made them. `content` sets how much text the spans contain: full,
    redacted or none.
    """
    policy = ContentPolicy(content)
    found = []
    with open_traces(session, turn, config=config, notify=notify) as traces:
        for trace in report_items("building spans", traces):
            contents = SpanContents(trace.session, policy)
            spans = to_session_spans(build_span(node, trace, contents, nest=nest) for node in trace.nodes)
            found.append(TurnTrace(trace.id.hex(), trace.number or None, trace.name, spans))
    return SessionTraces(tuple(found))


def to_session_spans(spans: Iterable[Span]) -> tuple[SessionSpan, ...]:
    """Convert spans to readable values: ids in hexadecimal, times as dates."""
    return tuple(SessionSpan(**span) for span in to_readable_spans(spans))
