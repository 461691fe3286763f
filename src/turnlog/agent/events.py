"""What a turn tells whoever watches it: the console, print mode, a test.

The record on disk is written by the loop itself, before the event that tells of it: what is shown is what is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from turnlog.agent.tools.call_result import CallResult
from turnlog.model.events import ModelEvent as ModelEvent

Object = Mapping[str, Any]


class AnswerStreamed(Struct, frozen=True):
    """A piece of the answer as it comes."""

    event: ModelEvent
    agent: str | None = None
    """The call of the sub-agent that it belongs to; None for the session itself."""


class EntryWritten(Struct, frozen=True):
    """An entry was written: a block of the answer, a result, something that the client itself says."""

    entry: Object
    agent: str | None = None


class CallStarted(Struct, frozen=True):
    """A tool begins its work; it was allowed."""

    call: str
    name: str
    given: Object
    agent: str | None = None


class CallProgress(Struct, frozen=True):
    """A tool gets on."""

    call: str
    data: Object
    agent: str | None = None


class CallEnded(Struct, frozen=True):
    """A tool has done its work, or was refused."""

    call: str
    name: str
    given: Object
    result: CallResult
    milliseconds: int
    agent: str | None = None


class CallDenied(Struct, frozen=True):
    """A call was not allowed."""

    call: str
    name: str
    given: Object
    reason: str
    agent: str | None = None


class ConversationCompacted(Struct, frozen=True):
    """Older messages were replaced by a summary, or old results were cleared."""

    trigger: str
    """`auto`, `manual` or `micro`."""
    before: int
    """Tokens before."""
    summary: str = ""


class WarningIssued(Struct, frozen=True):
    """Something that a person should know: a retry, a limit that is near, a setting that was ignored."""

    text: str


class TurnEnded(Struct, frozen=True):
    """The model has come to rest, or was made to."""

    reason: str
    """`finished`, `interrupted`, `max_turns`, `budget`, `error`."""
    text: str
    """The last text of the model, or what went wrong."""
    milliseconds: int
    turns: int
    """Requests that were made."""


TurnEvent = (
    AnswerStreamed
    | EntryWritten
    | CallStarted
    | CallProgress
    | CallEnded
    | CallDenied
    | ConversationCompacted
    | WarningIssued
    | TurnEnded
)
