"""The events of a session: one class for each kind, whose tag is its name in JSON (docs/events.md).

Most events are read from a transcript, entry by entry (`fold`). No entry records the other three, so they are detected
only while a session is being watched (`watcher`): `PermissionAwaited`, `WentIdle` and `SessionEnded`.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

MAIN_ACTOR = "main"
MAX_EVENT_TEXT_CHARS = 2000
"""Longer texts are cut; the entry has the whole text."""

Confidence = Literal["sure", "inferred"]
"""sure: written by the client or reported by a hook; inferred: a conclusion from silence, processes or wording."""
Category = Literal["read", "write", "run", "web", "agent", "plan", "ask", "other"]
"""What a call does (`categories`)."""
Outcome = Literal["ok", "failed", "rejected", "interrupted", "background"]
"""How a call ended; background: it continues after its result."""
ThinkLevel = Literal["none", "think", "hard", "harder", "ultra"]


class Event(Struct, frozen=True, kw_only=True, tag_field="event"):
    """The fields that all events have."""

    session: str
    """The session's uuid."""
    actor: str = MAIN_ACTOR
    """`main`, or the id of a sub-agent."""
    entry: str | None = None
    """The uuid of the entry that it was read from."""
    offset: int | None = None
    """The byte offset of that entry in the actor's file."""
    time: str | None = None
    """When it happened, in UTC, as in the transcript."""
    confidence: Confidence = "sure"


class SessionStarted(Event, frozen=True, kw_only=True, tag="session-start"):
    """The first entry with a message."""

    cwd: str | None = None
    git_branch: str | None = None
    version: str | None = None


class PromptTyped(Event, frozen=True, kw_only=True, tag="prompt"):
    """A person typed a prompt, or the main agent gave a sub-agent its task."""

    text: str
    think: ThinkLevel = "none"
    """How much thinking the words ask for."""
    images: int = 0
    is_queued: bool = False
    """Whether it was typed while the model was working."""


class ToolCalled(Event, frozen=True, kw_only=True, tag="call"):
    """The model calls a tool."""

    call: str
    """The id of the call."""
    tool: str
    category: Category
    title: str


class CallFinished(Event, frozen=True, kw_only=True, tag="result"):
    """The result of a call arrived, or a command that continued in the background ended."""

    call: str
    tool: str
    category: Category
    outcome: Outcome
    text: str = ""
    """The start of the result."""
    seconds: float | None = None


class TextAnswered(Event, frozen=True, kw_only=True, tag="text"):
    """The model wrote text."""

    text: str


class Thought(Event, frozen=True, kw_only=True, tag="think"):
    """The model thought; newer clients don't record the text."""

    text: str = ""
    level: ThinkLevel = "think"
    """By the length of the thinking, and by what the prompt asked for."""


class AgentStarted(Event, frozen=True, kw_only=True, tag="agent-start"):
    """A sub-agent was started."""

    call: str
    """The call that started it; it identifies the sub-agent until its id is known."""
    agent_type: str = ""
    description: str = ""


class AgentFinished(Event, frozen=True, kw_only=True, tag="agent-finish"):
    """A sub-agent ended."""

    call: str
    agent: str | None = None
    """Its id, where the transcript records it."""
    outcome: Outcome = "ok"


class TodoItem(Struct, frozen=True):
    text: str
    status: Literal["pending", "in_progress", "completed"]


class TodosChanged(Event, frozen=True, kw_only=True, tag="todos"):
    """The list of tasks changed; `items` is the complete list."""

    items: list[TodoItem]


class QuestionAsked(Event, frozen=True, kw_only=True, tag="question"):
    """The model asks a person one or more questions."""

    call: str
    questions: list[str]


class PlanProposed(Event, frozen=True, kw_only=True, tag="plan"):
    """The model proposes a plan and waits for approval."""

    call: str
    text: str = ""


class ErrorOccurred(Event, frozen=True, kw_only=True, tag="error"):
    """A call or the API failed."""

    source: Literal["call", "api"]
    text: str = ""
    call: str | None = None
    attempt: int = 0
    """The attempt that failed, if the client tries again."""
    max_attempts: int = 0


class TurnFinished(Event, frozen=True, kw_only=True, tag="turn-finish"):
    """The model finished its answer."""

    seconds: float | None = None


class TurnInterrupted(Event, frozen=True, kw_only=True, tag="interrupt"):
    """A person stopped the turn."""


class ContextCompacted(Event, frozen=True, kw_only=True, tag="compaction"):
    """A summary replaced the conversation so far."""

    trigger: Literal["auto", "manual", "unknown"] = "unknown"
    tokens_before: int | None = None


class ContextFilled(Event, frozen=True, kw_only=True, tag="context"):
    """The size of the context changed."""

    tokens: int
    window: int | None = None
    """The model's context window; None for an unknown model."""
    model: str | None = None


class WorkShipped(Event, frozen=True, kw_only=True, tag="ship"):
    """A push or a pull request succeeded."""

    kind: Literal["push", "pull-request"]
    url: str | None = None


class PermissionAwaited(Event, frozen=True, kw_only=True, tag="permission-wait"):
    """A call is waiting for a person to allow it."""

    tool: str = ""
    title: str = ""
    reason: str = ""
    """How this is known."""


class WentIdle(Event, frozen=True, kw_only=True, tag="idle"):
    """The session is not working, and is not waiting for permission or an answer."""

    reason: str = ""


class SessionEnded(Event, frozen=True, kw_only=True, tag="session-end"):
    """The client exited, was killed, or left the session."""

    reason: str = ""


AnyEvent: TypeAlias = (
    SessionStarted
    | PromptTyped
    | ToolCalled
    | CallFinished
    | TextAnswered
    | Thought
    | AgentStarted
    | AgentFinished
    | TodosChanged
    | QuestionAsked
    | PlanProposed
    | ErrorOccurred
    | TurnFinished
    | TurnInterrupted
    | ContextCompacted
    | ContextFilled
    | WorkShipped
    | PermissionAwaited
    | WentIdle
    | SessionEnded
)
