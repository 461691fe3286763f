"""From a session to the outbox: the spans that have become final and were never put there before."""

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
"""Batches are put into the outbox when there are this many bytes of them, so that memory stays flat."""

SpanClaims = dict[bytes, bytes]
"""Spans, each with its trace."""


class HarvestResult(NamedTuple):
    """What one session brought."""

    put: int = 0
    """Spans that were put into the outbox."""
    waiting: int = 0
    """Spans that are not final yet."""
    known: int = 0
    """Spans that were put there before, from this file or a copy of it."""
    scraps: int = 0
    """Lines that could not be read, and were skipped."""

    def plus(self, other: HarvestResult) -> HarvestResult:
        """Both together."""
        return HarvestResult(*(one + more for one, more in zip(self, other, strict=True)))


def harvest_session(path: Path, outbox: Outbox, target: TraceTarget, told: SessionSignals) -> HarvestResult:
    """Put what has become final in a session into the outbox."""
    while True:
        try:
            return _harvest_once(path, outbox, target, told)
        except OutboxOvertaken:  # by a process that is at the same session or at a copy of it: each time less is left
            continue


def _harvest_once(path: Path, outbox: Outbox, target: TraceTarget, told: SessionSignals) -> HarvestResult:
    # What is over is read whole: side work that no call started may have come at any time.
    before = None if told.over else TraceProgress.from_text(outbox.read_progress(target.key, str(path)))
    seen = read_session_state(path)
    with closing(read_session_tail(path, before)) as reading:
        found = reading.build_traces(told)
        claims = outbox.find_claims(target.key, _iter_final_ids(found))
        put = known = size = 0
        full: list[SpanBatch] = []
        for trace in found:
            fresh, old = select_unsent_nodes(trace, claims)
            put, known = put + len(fresh), known + old
            made = (
                build_span_batches(build_target_spans(reading, trace, fresh, target), small=target.is_far)
                if fresh
                else []
            )
            full += made
            size += sum(len(batch.body) for batch in made)
            if size > _PUT_AT_BYTES:
                outbox.put(target.key, full)
                full, size = [], 0
        progress = reading.compute_progress(found)
        outbox.put(target.key, full, str(path), progress.to_text() if progress else None)
        if told.over:
            remember_finished(outbox, target.key, path, seen)
        waiting = sum(not node.final for trace in found for node in trace.nodes)
        return HarvestResult(put, waiting, known, len(reading.session.file.scraps))


def preview_spans(
    path: Path, outbox: Outbox, target: TraceTarget, told: SessionSignals, shown: SpanClaims | None = None
) -> Iterator[Span]:
    """What `harvest` would put into the outbox; `shown` is kept from one session to the next, for copies."""
    shown = {} if shown is None else shown
    with closing(read_session_tail(path, None)) as reading:
        found = reading.build_traces(told)
        claims = outbox.find_claims(target.key, _iter_final_ids(found))
        claims |= {span: shown[span] for span in _iter_final_ids(found) if span in shown}
        for trace in found:
            fresh, _ = select_unsent_nodes(trace, claims)
            shown.update((node.id, trace.id) for node in fresh)
            yield from build_target_spans(reading, trace, fresh, target)


def _iter_final_ids(found: Sequence[Trace]) -> Iterator[bytes]:
    return (node.id for trace in found for node in trace.nodes if node.final)


def select_unsent_nodes(trace: Trace, claims: SpanClaims) -> tuple[list[SpanNode], int]:
    """The nodes of a trace that are final and new to a target that has some already, and how many of it those are.

    A copy of a session with uuids of its own has the messages and calls of the original: those stay where they are,
    and a turn of which nothing else is left is not sent at all.
    """
    final = [node for node in trace.nodes if node.final]
    fresh = [node for node in final if node.id not in claims]
    elsewhere = any(claims.get(node.id, trace.id) != trace.id for node in final)
    if elsewhere and all(node.kind == "agent" for node in fresh):
        return [], len(final)
    return fresh, len(final) - len(fresh)


def build_target_spans(
    reading: SessionTail, trace: Trace, nodes: Sequence[SpanNode], target: TraceTarget
) -> Iterator[Span]:
    """Nodes with all that a target is to be sent of them."""
    contents = SpanContents(reading.session, target.policy)
    for node in nodes:
        yield build_span(node, trace, contents, nest=target.nest, user=target.user)
