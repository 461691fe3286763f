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

JsonObject = Mapping[str, Any]


class _StreamEvent(Struct, frozen=True, kw_only=True):
    data: JsonObject = {}
    """The event as the server sent it."""


class AnswerStarted(_StreamEvent, frozen=True):
    """The answer begins."""

    id: str
    model: str
    usage: JsonObject
    """Tokens as they are known now: the input's are final."""
    request_id: str | None = None


class BlockStarted(_StreamEvent, frozen=True):
    """A block of content begins."""

    index: int
    block: JsonObject
    """The block, still without its content."""


class TextPart(_StreamEvent, frozen=True):
    """More of a text."""

    index: int
    text: str


class ThinkingPart(_StreamEvent, frozen=True):
    """More of what the model thinks."""

    index: int
    text: str


class SignaturePart(_StreamEvent, frozen=True):
    """The signature of a thinking block."""

    index: int
    signature: str


class InputPart(_StreamEvent, frozen=True):
    """More of the input of a call, as JSON text."""

    index: int
    json: str


class OtherPart(_StreamEvent, frozen=True):
    """More of a block, of a kind that is not known here: a citation …"""

    index: int
    delta: JsonObject


class BlockEnded(_StreamEvent, frozen=True):
    """A block is complete."""

    index: int
    block: JsonObject
    """The whole block."""


class AnswerEnded(_StreamEvent, frozen=True):
    """The answer is complete."""

    stop_reason: str | None
    stop_sequence: str | None
    usage: JsonObject
    """All tokens of the answer."""


class RetryStarted(_StreamEvent, frozen=True):
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


class OtherEvent(_StreamEvent, frozen=True):
    """Anything else that the server said: a ping, or what is not known here."""

    name: str


ModelEvent = (
    AnswerStarted
    | BlockStarted
    | TextPart
    | ThinkingPart
    | SignaturePart
    | InputPart
    | OtherPart
    | BlockEnded
    | AnswerEnded
    | RetryStarted
    | OtherEvent
)
