"""Batches that are made by hand: real requests, of spans that say nothing but their number."""

from __future__ import annotations

from hashlib import sha256

from turnlog.trace.spans.span import Span
from turnlog.trace.targets.target import TraceTarget
from turnlog.trace.wire.batch import SpanBatch
from turnlog.trace.wire.otlp import build_span_batches

KEY = "here"


def span_id(number: int) -> bytes:
    """The id of a span by its number."""
    return sha256(f"span {number}".encode()).digest()[:8]


def trace_id(number: int) -> bytes:
    """The id of a trace by its number."""
    return sha256(f"trace {number}".encode()).digest()[:16]


def build_batch(number: int, spans: int = 1) -> SpanBatch:
    """The batch with that number; its spans are `100 * number` and those after it."""
    numbers = range(100 * number, 100 * number + spans)
    found = [
        Span(trace_id(number), span_id(each), None, "tool", f"execute_tool {each}", each, each + 1, {"number": each})
        for each in numbers
    ]
    (batch,) = build_span_batches(found)
    return batch


def target(url: str, name: str = "test") -> TraceTarget:
    """A target at an address."""
    return TraceTarget(name=name, url=f"{url}/v1/traces", timeout=5)
