"""From a session to the outbox: the spans that have become final and were never put there before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from turnlog.trace.outbox.finished import remember, state
from turnlog.trace.outbox.outbox import Outbox, Overtaken
from turnlog.trace.reading import Progress, Reading, read
from turnlog.trace.spans.attributes import span
from turnlog.trace.spans.content import Contents
from turnlog.trace.spans.span import Span, Told
from turnlog.trace.spans.spans import Node, Trace
from turnlog.trace.targets.target import Target
from turnlog.trace.wire.batch import Batch
from turnlog.trace.wire.otlp import batches

_PUT_AT = 8 << 20
"""Batches are put into the outbox when there are this many bytes of them, so that memory stays flat."""

Claims = dict[bytes, bytes]
"""Spans, each with its trace."""


class Harvested(NamedTuple):
    """What one session brought."""

    put: int = 0
    """Spans that were put into the outbox."""
    waiting: int = 0
    """Spans that are not final yet."""
    known: int = 0
    """Spans that were put there before, from this file or a copy of it."""
    scraps: int = 0
    """Lines that could not be read, and were skipped."""

    def plus(self, other: Harvested) -> Harvested:
        """Both together."""
        return Harvested(*(one + more for one, more in zip(self, other, strict=True)))


def harvest(path: Path, outbox: Outbox, target: Target, told: Told) -> Harvested:
    """Put what has become final in a session into the outbox."""
    while True:
        try:
            return _harvested(path, outbox, target, told)
        except Overtaken:  # by a process that is at the same session or at a copy of it: each time less is left
            continue


def _harvested(path: Path, outbox: Outbox, target: Target, told: Told) -> Harvested:
    # What is over is read whole: side work that no call started may have come at any time.
    before = None if told.over else Progress.from_text(outbox.progress(target.key, str(path)))
    seen = state(path)
    with closing(read(path, before)) as reading:
        found = reading.traces(told)
        claims = outbox.claimed(target.key, _final(found))
        put = known = size = 0
        full: list[Batch] = []
        for trace in found:
            fresh, old = unsent(trace, claims)
            put, known = put + len(fresh), known + old
            made = batches(spans(reading, trace, fresh, target), small=target.is_far) if fresh else []
            full += made
            size += sum(len(batch.body) for batch in made)
            if size > _PUT_AT:
                outbox.put(target.key, full)
                full, size = [], 0
        progress = reading.progress(found)
        outbox.put(target.key, full, str(path), progress.to_text() if progress else None)
        if told.over:
            remember(outbox, target.key, path, seen)
        waiting = sum(not node.final for trace in found for node in trace.nodes)
        return Harvested(put, waiting, known, len(reading.session.file.scraps))


def preview(path: Path, outbox: Outbox, target: Target, told: Told, shown: Claims | None = None) -> Iterator[Span]:
    """What `harvest` would put into the outbox; `shown` is kept from one session to the next, for copies."""
    shown = {} if shown is None else shown
    with closing(read(path, None)) as reading:
        found = reading.traces(told)
        claims = outbox.claimed(target.key, _final(found))
        claims |= {span: shown[span] for span in _final(found) if span in shown}
        for trace in found:
            fresh, _ = unsent(trace, claims)
            shown.update((node.id, trace.id) for node in fresh)
            yield from spans(reading, trace, fresh, target)


def _final(found: Sequence[Trace]) -> Iterator[bytes]:
    return (node.id for trace in found for node in trace.nodes if node.final)


def unsent(trace: Trace, claims: Claims) -> tuple[list[Node], int]:
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


def spans(reading: Reading, trace: Trace, nodes: Sequence[Node], target: Target) -> Iterator[Span]:
    """Nodes with all that a target is to be sent of them."""
    contents = Contents(reading.session, target.policy)
    for node in nodes:
        yield span(node, trace, contents, nest=target.nest, user=target.user)
