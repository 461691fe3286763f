"""The events of a streamed answer.

    AnswerStarted · BlockStarted · TextPart | ThinkingPart | SignaturePart | InputPart | OtherPart … · BlockEnded · …
    AnswerEnded

`RetryStarted` may occur at any point: it invalidates everything before it, and the answer starts over with
`AnswerStarted`. `OtherEvent` is anything else that a server sends, unchanged. Every event contains the API's own object
in `data`, so that it can be passed on unchanged.
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
    id: str
    model: str
    usage: JsonObject
    """The number of tokens so far; input tokens are final."""
    request_id: str | None = None


class BlockStarted(_StreamEvent, frozen=True):
    index: int
    block: JsonObject
    """The block without its content."""


class TextPart(_StreamEvent, frozen=True):
    index: int
    text: str


class ThinkingPart(_StreamEvent, frozen=True):
    index: int
    text: str


class SignaturePart(_StreamEvent, frozen=True):
    """The signature of a thinking block."""

    index: int
    signature: str


class InputPart(_StreamEvent, frozen=True):
    """A part of a call's input, as JSON text."""

    index: int
    json: str


class OtherPart(_StreamEvent, frozen=True):
    """A part of a block of any other type, such as a citation."""

    index: int
    delta: JsonObject


class BlockEnded(_StreamEvent, frozen=True):
    index: int
    block: JsonObject
    """The complete block."""


class AnswerEnded(_StreamEvent, frozen=True):
    stop_reason: str | None
    stop_sequence: str | None
    usage: JsonObject
    """The total number of tokens in the answer."""


class RetryStarted(_StreamEvent, frozen=True):
    """A request failed and will be retried; everything so far is invalid."""

    attempt: int
    """The number of the next attempt; the first retry is 2."""
    wait: float
    """Seconds until the next attempt."""
    reason: str
    attempts: int
    """The maximum number of attempts."""
    status: int | None = None
    """The HTTP status, if there was one."""


class OtherEvent(_StreamEvent, frozen=True):
    """Any other event: a ping or an unknown event."""

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
