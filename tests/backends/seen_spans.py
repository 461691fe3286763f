"""What a backend says of a trace, in words that both backends share."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol
from urllib.request import ProxyHandler, Request, build_opener

from turnlog.trace.spans.span import Span, SpanKind
from turnlog.trace.targets.target import TraceTarget

PATIENCE = 60.0


class Tokens(NamedTuple):
    """Tokens as backends count them: what was read from and written to the cache is part of the input."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


class SeenSpan(NamedTuple):
    """One span."""

    parent: str | None
    kind: SpanKind
    name: str
    start: int
    end: int
    error: str | None
    tokens: Tokens
    cost: float | None
    input: Any
    output: Any


class SeenTrace(NamedTuple):
    """One trace."""

    session: str | None
    user: str | None
    start: int
    end: int
    tokens: Tokens
    """Of the whole trace, as the backend has added them up."""
    cost: float | None
    spans: Mapping[str, SeenSpan]
    """By their ids."""

    @property
    def tree(self) -> list[str]:
        """Names, each below its parent and in the order of time; `!` for what failed."""
        return [line for key, span in self._sort_spans() if span.parent is None for line in self._below(key, 0)]

    def _below(self, key: str, depth: int) -> list[str]:
        span = self.spans[key]
        mark = "" if span.error is None else " !"
        parts = [
            line for child, other in self._sort_spans() if other.parent == key for line in self._below(child, depth + 1)
        ]
        return [f"{'  ' * depth}{span.name}{mark}", *parts]

    def _sort_spans(self) -> list[tuple[str, SeenSpan]]:
        return sorted(self.spans.items(), key=lambda item: (item[1].start, item[1].end, item[0]))


class Backend(Protocol):
    """A server that spans are sent to and read back from."""

    name: str

    def target(self, project: str) -> TraceTarget:
        """Where to send what belongs to a project, which is made if there is none."""

    def trace(self, project: str, trace: str) -> SeenTrace | None:
        """A trace, by its id in hexadecimal."""

    def session(self, project: str, session: str) -> set[str]:
        """The ids of the traces that it shows as one session."""

    def list_span_ids(self, project: str) -> list[str]:
        """The ids of all spans of a project, each as often as it is there."""


def wait_for_spans(backend: Backend, project: str, count: int) -> list[str]:
    """The spans of a project, once there are as many: backends write them down after they have said yes."""
    until = time.monotonic() + PATIENCE
    while len(found := backend.list_span_ids(project)) < count and time.monotonic() < until:
        time.sleep(0.1)
    return found


def ask(address: str, body: object = None) -> Any:
    """The JSON that a server answers with."""
    data = None if body is None else json.dumps(body).encode()
    request = Request(address, data, {"content-type": "application/json"})
    with build_opener(ProxyHandler({})).open(request, timeout=PATIENCE) as answer:
        return json.load(answer)


def nanoseconds(date: str) -> int:
    """A date as the number that spans have."""
    since = datetime.fromisoformat(date) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000


def as_sent(span: Span) -> SeenSpan:
    """What a backend should say of a span, but for what it makes of its contents and what it costs."""
    names = ("input", "output", "cache_read.input", "cache_creation.input")
    counts = (span.attributes.get(f"gen_ai.usage.{name}_tokens", 0) for name in names)
    tokens = Tokens(*(count for count in counts if isinstance(count, int)))
    parent = span.parent.hex() if span.parent else None
    return SeenSpan(parent, span.kind, span.name, span.start, span.end, span.error, tokens, None, None, None)
