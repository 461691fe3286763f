"""Spans: the work of a session, in the terms that tracing backends use.

A trace is a turn. A session's spans are the agent that did the work (`agent`), its requests to the model (`generation`)
and its calls (`tool`); a sub-agent is an agent below the call that started it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

SpanKind = Literal["agent", "generation", "tool"]
AttributeValue = str | int | float | bool | Sequence[str]


class Span(NamedTuple):
    """One span with everything that is sent."""

    trace: bytes
    """The id of the trace (16 bytes)."""
    id: bytes
    """The id of the span (8 bytes)."""
    parent: bytes | None
    """The id of the parent span, or None for the root of a trace."""
    kind: SpanKind
    name: str
    start: int
    """Nanoseconds since 1970."""
    end: int
    attributes: dict[str, AttributeValue]
    error: str | None = None
    """The reason for a failure, or None if the span did not fail."""
    shared: Mapping[str, AttributeValue] = MappingProxyType({})
    """The attributes shared by all spans in the trace, as one object; `attributes` starts with them."""


class SessionSignals(NamedTuple):
    """What is known about a session besides its files: signals from a hook, and whether it has ended."""

    at_rest: bool = False
    """Whether the client has finished its turn (Stop), so that work that has come to rest is complete."""
    over: bool = False
    """Whether nothing more is expected (SessionEnd, or no client is running), so that everything is complete."""
    agents: frozenset[str] = frozenset()
    """Ids of sub-agents that have finished (SubagentStop)."""
