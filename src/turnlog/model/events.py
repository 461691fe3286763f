"""What comes back while a model answers, piece by piece.

    Started · BlockStarted · TextPart | ThinkingPart | SignaturePart | InputPart | OtherPart … · BlockEnded · … · Ended

`Retrying` may come at any place: what came before it is void, and the answer begins anew with `Started`. `Noted` is
everything else that a server says, kept as it is. Every event has the API's own object in `data`, so that it can be
handed on as it came.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Object = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class _Event:
    data: Object = field(default_factory=dict, repr=False, compare=False)
    """The event as the server sent it."""


@dataclass(frozen=True)
class Started(_Event):
    """The answer begins."""

    id: str
    model: str
    usage: Object
    """Tokens as they are known now: the input's are final."""
    request_id: str | None = None


@dataclass(frozen=True)
class BlockStarted(_Event):
    """A block of content begins."""

    index: int
    block: Object
    """The block, still without its content."""


@dataclass(frozen=True)
class TextPart(_Event):
    """More of a text."""

    index: int
    text: str


@dataclass(frozen=True)
class ThinkingPart(_Event):
    """More of what the model thinks."""

    index: int
    text: str


@dataclass(frozen=True)
class SignaturePart(_Event):
    """The signature of a thinking block."""

    index: int
    signature: str


@dataclass(frozen=True)
class InputPart(_Event):
    """More of the input of a call, as JSON text."""

    index: int
    json: str


@dataclass(frozen=True)
class OtherPart(_Event):
    """More of a block, of a kind that is not known here: a citation …"""

    index: int
    delta: Object


@dataclass(frozen=True)
class BlockEnded(_Event):
    """A block is complete."""

    index: int
    block: Object
    """The whole block."""


@dataclass(frozen=True)
class Ended(_Event):
    """The answer is complete."""

    stop_reason: str | None
    stop_sequence: str | None
    usage: Object
    """All tokens of the answer."""


@dataclass(frozen=True)
class Retrying(_Event):
    """It went wrong and is tried again; what came so far is void."""

    attempt: int
    """Which attempt comes next: 2 is the second."""
    wait: float
    """Seconds until then."""
    reason: str


@dataclass(frozen=True)
class Noted(_Event):
    """Anything else that the server said: a ping, or what is not known here."""

    name: str


Event = (
    Started
    | BlockStarted
    | TextPart
    | ThinkingPart
    | SignaturePart
    | InputPart
    | OtherPart
    | BlockEnded
    | Ended
    | Retrying
    | Noted
)
