"""Puts a session's final spans into the outbox, except those that are already there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from turnlog.trace.outbox.finished_sessions import read_session_state, remember_finished
from turnlog.trace.outbox.outbox import Outbox, OutboxOvertaken
from turnlog.trace.session_tail import SessionTail, TraceProgress, read_session_tail
from turnlog.trace.spans.attributes import build_span
from turnlog.trace.spans.content import SpanContents
from turnlog.trace.spans.span import SessionSignals, Span
from turnlog.trace.spans.span_trees import SpanNode, Trace
from turnlog.trace.targets.target import TraceTarget
from turnlog.trace.wire.batch import SpanBatch
from turnlog.trace.wire.otlp import build_span_batches

_PUT_AT_BYTES = 8 << 20
"""Batches are put into the outbox once they have this many bytes, to limit memory use."""

SpanClaims = dict[bytes, bytes]
"""Span ids, each with the id of its trace."""


class HarvestResult(NamedTuple):
    """The numbers of spans in a session that are new, waiting or known."""

    put: int = 0
    """Spans that were put into the outbox."""
    waiting: int = 0
    """Spans that are not final yet."""
    known: int = 0
    """Spans that were put into the outbox earlier, from this file or a copy of it."""
    scraps: int = 0
    """Lines that could not be read and were skipped."""

    def plus(self, other: HarvestResult) -> HarvestResult:
        """Add two results."""
        return HarvestResult(*(one + more for one, more in zip(self, other, strict=True)))


def harvest_session(path: Path, outbox: Outbox, target: TraceTarget, signals: SessionSignals) -> HarvestResult:
    """Put the spans of a session that have become final into the outbox."""
    while True:
        try:
            return _harvest_once(path, outbox, target, signals)
        except OutboxOvertaken:  # another process is handling this session or a copy; less is left each time
            continue


def _harvest_once(path: Path, outbox: Outbox, target: TraceTarget, signals: SessionSignals) -> HarvestResult:
    # A session that is over is read completely, because side work not started by a call may appear anywhere.
    before = None if signals.over else TraceProgress.from_text(outbox.read_progress(target.key, str(path)))
    state = read_session_state(path)
    with closing(read_session_tail(path, before)) as tail:
        traces = tail.build_traces(signals)
        claims = outbox.find_claims(target.key, _iter_final_ids(traces))
        put = known = size = 0
        full: list[SpanBatch] = []
        for trace in traces:
            fresh, old = select_unsent_nodes(trace, claims)
            put, known = put + len(fresh), known + old
            batches = (
                build_span_batches(build_target_spans(tail, trace, fresh, target), small=target.is_far) if fresh else []
            )
            full += batches
            size += sum(len(batch.body) for batch in batches)
            if size > _PUT_AT_BYTES:
                outbox.put(target.key, full)
                full, size = [], 0
        progress = tail.compute_progress(traces)
        outbox.put(target.key, full, str(path), progress.to_text() if progress else None)
        if signals.over:
            remember_finished(outbox, target.key, path, state)
        waiting = sum(not node.final for trace in traces for node in trace.nodes)
        return HarvestResult(put, waiting, known, len(tail.session.file.scraps))


def preview_spans(
    path: Path, outbox: Outbox, target: TraceTarget, signals: SessionSignals, claimed: SpanClaims | None = None
) -> Iterator[Span]:
    """Yield the spans that `harvest_session` would put into the outbox; share `claimed` between copies of a session."""
    claimed = {} if claimed is None else claimed
    with closing(read_session_tail(path, None)) as tail:
        traces = tail.build_traces(signals)
        claims = outbox.find_claims(target.key, _iter_final_ids(traces))
        claims |= {span: claimed[span] for span in _iter_final_ids(traces) if span in claimed}
        for trace in traces:
            fresh, _ = select_unsent_nodes(trace, claims)
            claimed.update((node.id, trace.id) for node in fresh)
            yield from build_target_spans(tail, trace, fresh, target)


def _iter_final_ids(traces: Sequence[Trace]) -> Iterator[bytes]:
    return (node.id for trace in traces for node in trace.nodes if node.final)


def select_unsent_nodes(trace: Trace, claims: SpanClaims) -> tuple[list[SpanNode], int]:
    """Return the final nodes of a trace that a target doesn't have yet, and how many it has.

    A copy of a session with its own uuids shares messages and calls with the original; these are not sent again, and a
    turn that contains nothing else is not sent at all.
    """
    final = [node for node in trace.nodes if node.final]
    fresh = [node for node in final if node.id not in claims]
    elsewhere = any(claims.get(node.id, trace.id) != trace.id for node in final)
    if elsewhere and all(node.kind == "agent" for node in fresh):
        return [], len(final)
    return fresh, len(final) - len(fresh)


def build_target_spans(
    tail: SessionTail, trace: Trace, nodes: Sequence[SpanNode], target: TraceTarget
) -> Iterator[Span]:
    """Convert nodes to spans, and yield them with everything that a target receives."""
    contents = SpanContents(tail.session, target.policy)
    for node in nodes:
        yield build_span(node, trace, contents, nest=target.nest, user=target.user)
