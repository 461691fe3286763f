"""What comes back while a model answers, piece by piece.

    Started · BlockStarted · TextPart | ThinkingPart | SignaturePart | InputPart | OtherPart … · BlockEnded · … · Ended

`Retrying` may come at any place: what came before it is void, and the answer begins anew with `Started`. `Noted` is
everything else that a server says, kept as it is. Every event has the API's own object in `data`, so that it can be
handed on as it came.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

Object = Mapping[str, Any]


class _Event(Struct, frozen=True, kw_only=True):
    data: Object = {}
    """The event as the server sent it."""


class Started(_Event, frozen=True):
    """The answer begins."""

    id: str
    model: str
    usage: Object
    """Tokens as they are known now: the input's are final."""
    request_id: str | None = None


class BlockStarted(_Event, frozen=True):
    """A block of content begins."""

    index: int
    block: Object
    """The block, still without its content."""


class TextPart(_Event, frozen=True):
    """More of a text."""

    index: int
    text: str


class ThinkingPart(_Event, frozen=True):
    """More of what the model thinks."""

    index: int
    text: str


class SignaturePart(_Event, frozen=True):
    """The signature of a thinking block."""

    index: int
    signature: str


class InputPart(_Event, frozen=True):
    """More of the input of a call, as JSON text."""

    index: int
    json: str


class OtherPart(_Event, frozen=True):
    """More of a block, of a kind that is not known here: a citation …"""

    index: int
    delta: Object


class BlockEnded(_Event, frozen=True):
    """A block is complete."""

    index: int
    block: Object
    """The whole block."""


class Ended(_Event, frozen=True):
    """The answer is complete."""

    stop_reason: str | None
    stop_sequence: str | None
    usage: Object
    """All tokens of the answer."""


class Retrying(_Event, frozen=True):
    """It went wrong and is tried again; what came so far is void."""

    attempt: int
    """Which attempt comes next: 2 is the second."""
    wait: float
    """Seconds until then."""
    reason: str
    attempts: int
    """So many are made at most."""
    status: int | None = None
    """The HTTP status, if there was one."""


class Noted(_Event, frozen=True):
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
