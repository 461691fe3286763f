"""The events in a turn, for the console, print mode and tests.

The loop writes to disk before it sends the event, so anything shown has already been stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from turnlog.agent.tools.call_result import CallResult
from turnlog.agent.tools.task_events import TaskEnded, TaskMoved, TaskProgressed, TaskStarted
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
    by_program: bool = False
    """Whether the program that runs turnlog has denied the call itself."""


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


class HookMessage(Struct, frozen=True):
    """A message from or about a hook, for the person."""

    text: str
    level: str = "notice"
    """`notice` or `warning`."""
    details: Object = {}
    """Further facts for programs."""


class HookStarted(Struct, frozen=True):
    id: str
    name: str
    event: str
    session_id: str


class HookEnded(Struct, frozen=True):
    id: str
    name: str
    event: str
    stdout: str
    stderr: str
    exit_code: int
    is_failed: bool
    session_id: str


class TurnEnded(Struct, frozen=True):
    """The turn ended, whether or not it was completed."""

    reason: str
    """`finished`, `interrupted`, `max_turns`, `budget` or `error`; if a hook ended it, `prompt_blocked`, `hook_stopped`
    or `stop_hook_prevented`; `command_ended` if it was a command in a sub-agent of its own; `no_output` if the answer
    never matched the caller's schema."""
    text: str
    """The last text from the model, or the error."""
    milliseconds: int
    turns: int
    """The number of requests."""
    output: Mapping[str, Any] | None = None
    """The answer as data, if the caller wanted it so."""

    @property
    def is_failure(self) -> bool:
        """Whether the turn failed; a turn that a hook ended did not."""
        return self.reason in ("interrupted", "max_turns", "budget", "error", "no_output")


TurnEvent = (
    AnswerStreamed
    | EntryWritten
    | CallStarted
    | CallProgress
    | CallEnded
    | CallDenied
    | TaskStarted
    | TaskMoved
    | TaskProgressed
    | TaskEnded
    | ConversationCompacted
    | WarningIssued
    | HookMessage
    | HookStarted
    | HookEnded
    | TurnEnded
)
