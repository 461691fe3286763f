"""Spans: what a session did, as tracing backends know it.

A trace is a turn. Its spans are the agent that worked (`agent`), its requests to the model (`generation`) and its
calls (`tool`); a sub-agent is an agent under the call that started it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

SpanKind = Literal["agent", "generation", "tool"]
AttributeValue = str | int | float | bool | Sequence[str]


class Span(NamedTuple):
    """One span with all that is sent of it."""

    trace: bytes
    """The id of its trace, 16 bytes."""
    id: bytes
    """Its own id, 8 bytes."""
    parent: bytes | None
    """The span it is a part of; None for the root of a trace."""
    kind: SpanKind
    name: str
    start: int
    """Nanoseconds since 1970."""
    end: int
    attributes: dict[str, AttributeValue]
    error: str | None = None
    """Why it failed; None if it did not."""
    shared: Mapping[str, AttributeValue] = MappingProxyType({})
    """What all spans of its trace say, as one object; the attributes begin with it."""


class SessionSignals(NamedTuple):
    """What is known of a session beyond its files: what a hook said, or that nobody writes it any more."""

    at_rest: bool = False
    """The client has finished its turn (Stop): what has come to rest is complete."""
    over: bool = False
    """Nothing more is to be expected (SessionEnd, or no client runs): everything there is is complete."""
    agents: frozenset[str] = frozenset()
    """Ids of sub-agents that have finished (SubagentStop)."""
