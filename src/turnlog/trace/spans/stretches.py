"""Stretches: the work in a turn or by a sub-agent, from one rest to the next.

A stretch is what the client's loop does without stopping: answers and calls until it comes to rest. It rests at an
answer without calls, at an API error and at an interruption. Work in the same turn after a rest (caused by a hook that
requests continuation, an answer that was too long, or a message to a sub-agent) is a new stretch.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from turnlog.entries.entry import Entry
from turnlog.session.calls import Call
from turnlog.session.messages import Message, join_messages
from turnlog.session.notices import Notice
from turnlog.session.prompts import Prompt
from turnlog.session.session import Session
from turnlog.session.turns import KINDS_NEEDING_WORK


class StretchAnswer(Struct):
    """The part of a model's answer that belongs to its stretch."""

    key: str
    lines: list[Entry]
    before: Entry | None
    """The entry that it answers, at which the request started."""
    inputs: list[Entry]
    """The messages to the model since the previous answer."""
    calls: int = 0
    """The number of calls in it."""
    final: bool = False

    @property
    def message(self) -> Message:
        """The answer's lines, joined into one message."""
        return join_messages(self.lines)[0]

    @property
    def has_iterations(self) -> bool:
        """Whether the answer's usage lists the individual requests."""
        heads = (line.message for line in self.lines)
        return any(head is not None and head.usage is not None and head.usage.iterations for head in heads)


class WorkStretch(Struct):
    """Work from a start to a rest."""

    start: Entry
    continued: bool
    """Whether other work in the same turn or by the same sub-agent came before this stretch."""
    last: Entry
    """The last entry of the stretch's work."""
    answers: list[StretchAnswer] = []
    calls: list[Call] = []
    at_rest: bool = False
    closed: bool = False
    """Whether the stretch can no longer change."""
    cut_off: bool = False
    """Whether the stretch was closed because nothing more is expected, not because of later entries."""
    failed: bool = False
    """Whether the last answer is an API error."""
    interrupted: bool = False
    compacted: bool = False
    duration_ms: int | None = None

    def close(self, *, cut_off: bool = False) -> None:
        """Make the stretch final."""
        self.closed, self.cut_off = True, cut_off
        for answer in self.answers[-1:]:
            answer.final = True


class ActorWork(Struct):
    """A turn, or all the work of a sub-agent."""

    session: Session
    start: Entry
    prompt: Prompt | None
    """What started the work, or None if it continues something outside the file."""
    stretches: list[WorkStretch] = []
    entries: list[Entry] = []
    """All messages, in file order."""
    number: int = 0
    """The number of the turn, or 0 if it isn't a turn."""
    first_answer: Entry | None = None
    kept_at: int | None = None
    """The index of the entry that confirmed that this is a turn."""
    waiting: list[Entry] = []
    """The messages to the model since the last answer."""
    pending: Entry | None = None
    """The last message after a rest."""
    compacting: bool = False
    """Whether a compaction came after a rest."""

    @property
    def is_asked(self) -> bool:
        """Whether a person definitely requested the work."""
        return self.prompt is not None and self.prompt.kind not in KINDS_NEEDING_WORK


class TaskNotification(NamedTuple):
    """A notification that a background task has ended."""

    entry: Entry
    notice: Notice


class EndReport(NamedTuple):
    """A report from another file that an actor has finished."""

    time: int
    certain: bool
    """Whether the actor was stopped, and so has ended even if it isn't at rest."""
