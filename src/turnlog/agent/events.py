"""The events in a turn, for the console, print mode and tests.

The loop writes to disk before it sends the event, so anything shown has already been stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from turnlog.agent.tools.call_result import CallResult
from turnlog.model.events import ModelEvent as ModelEvent

Object = Mapping[str, Any]


class AnswerStreamed(Struct, frozen=True):
    """A streamed piece of the answer."""

    event: ModelEvent
    agent: str | None = None
    """The call that started the sub-agent to which the event belongs, or None for the session itself."""


class EntryWritten(Struct, frozen=True):
    """An entry was written: a block of the answer, a result, or a message from the client."""

    entry: Object
    agent: str | None = None


class CallStarted(Struct, frozen=True):
    """A call was allowed and has started."""

    call: str
    name: str
    arguments: Object
    agent: str | None = None


class CallProgress(Struct, frozen=True):
    call: str
    data: Object
    agent: str | None = None


class CallEnded(Struct, frozen=True):
    """A call has finished or was refused."""

    call: str
    name: str
    arguments: Object
    result: CallResult
    milliseconds: int
    agent: str | None = None


class CallDenied(Struct, frozen=True):
    call: str
    name: str
    arguments: Object
    reason: str
    agent: str | None = None


class ConversationCompacted(Struct, frozen=True):
    """A summary replaced older messages, or old results were cleared."""

    trigger: str
    """`auto`, `manual` or `micro`."""
    before: int
    """Tokens before the compaction."""
    summary: str = ""


class WarningIssued(Struct, frozen=True):
    """A warning for the person, for example about a retry, a limit or an ignored setting."""

    text: str


class TurnEnded(Struct, frozen=True):
    """The turn ended, whether or not it was completed."""

    reason: str
    """`finished`, `interrupted`, `max_turns`, `budget` or `error`."""
    text: str
    """The last text from the model, or the error."""
    milliseconds: int
    turns: int
    """The number of requests."""


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
