"""Turns: what a person started, and everything that followed from it.

A turn is started by what a person typed: a prompt, a slash command or skill that reaches the model, a `!` command. Work
that a background task's notification or another agent's message set off is a turn of its own kind. Everything else
belongs to the turn it descends from; text that was typed while a turn was at work is a further prompt of that turn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Literal

from msgspec import Struct

from turnlog.entries.entry import Entry
from turnlog.entries.reader import Transcript, collector_off
from turnlog.entries.speakers import Speaker
from turnlog.session.calls import WAITS_FOR_PERSON, Call
from turnlog.session.clock import moment
from turnlog.session.graph import holds_result
from turnlog.session.messages import Message
from turnlog.session.notices import Notice, notice
from turnlog.session.prompts import Prompt, read, read_queued, understand
from turnlog.session.usage.prices import SYNTHETIC

TURN_KINDS = ("prompt", "command", "bash", "notification", "teammate", "peer", "other")
ONLY_WITH_WORK = frozenset({"command", "notification", "teammate", "peer", "other"})
"""Kinds that start a turn only if the model did something about them."""
Outcome = Literal["finished", "interrupted", "error", "waiting", "open"]
Round = Literal["new_session", "new_round", "resume"]
"""How a turn follows on what was before it; `continue` is what a mere result of a call would be."""

GAP = timedelta(minutes=5)
NOWHERE = -1
_STARTS = frozenset(TURN_KINDS)
_OF_THE_WORK = frozenset({"turn_duration", "stop_hook_summary", "api_error"})
"""System entries that are written while a turn is at work; others may come hours later."""


class Turn(Struct, gc=False):
    """One turn."""

    index: int
    """Its place in `Session.turns`."""
    start: Entry
    kind: str
    """One of TURN_KINDS."""
    prompt: Prompt
    last: Entry
    """The last entry of its work."""
    further: list[str] = []
    """What was typed while it was at work."""
    messages: list[Message] = []
    calls: list[Call] = []
    duration_ms: int | None = None
    outcome: Outcome = "open"
    previous_ended: str | None = None
    """When the turn before it ended."""
    gap: timedelta = GAP
    """How long after that a turn is a resumption."""
    interrupted: bool = False
    answered: bool = False
    """Whether the last thing in it is an answer, and no result or prompt that waits for one."""
    expanded: bool = False
    """Whether the client added a command's or skill's text to the prompt."""

    @property
    def number(self) -> int:
        """The number that people use, from 1: `turnlog show --turn`."""
        return self.index + 1

    @property
    def text(self) -> str:
        """What was typed, or what the notification or message says."""
        return self.prompt.text

    @property
    def speaker(self) -> Speaker:
        """Who started it."""
        return self.prompt.speaker

    @property
    def origin(self) -> Notice | None:
        """The background task whose notification set off the work."""
        return notice(self.text) if self.kind == "notification" else None

    @property
    def round(self) -> Round:
        """How it follows on what was before it."""
        if self.index == 0:
            return "new_session"
        then, now = moment(self.previous_ended), moment(self.started)
        return "resume" if then and now and now - then > self.gap else "new_round"

    @property
    def started(self) -> str | None:
        """When it began."""
        return self.start.timestamp

    @property
    def ended(self) -> str | None:
        """When its last entry was written."""
        return self.last.timestamp


class Turns:
    """The turns of a session, and to which of them each entry belongs."""

    def __init__(
        self,
        file: Transcript,
        entries: Sequence[Entry],
        messages: Iterable[Message],
        calls: Iterable[Call],
        gap: timedelta,
    ) -> None:
        self._file = file
        self.all: list[Turn] = []
        self._of = [NOWHERE] * len(file.entries)
        """For each entry of the file the turn that it belongs to."""
        self._queue: list[Prompt] = []
        self._entries = entries
        with collector_off():
            self._assign(entries)
            self._fill(messages, calls)
        self._drop_idle()
        ended = None
        for turn in self.all:
            turn.outcome = _outcome(turn, is_last=turn is self.all[-1])
            turn.previous_ended, turn.gap = ended, gap
            ended = turn.ended

    def of(self, entry: Entry) -> Turn | None:
        """The turn that an entry belongs to."""
        place = self._of[entry.index]
        return self.all[place] if place != NOWHERE else None

    def _assign(self, entries: Iterable[Entry]) -> None:
        """Give each entry to the turn of its parent, or else to the turn that was at work just before."""
        of, turns = self._of, self.all
        first = self._file.by_uuid if self._file.repeated else {}
        for entry in entries:
            index, kind, parent = entry.index, entry.type, entry.parent
            if first and entry.uuid is not None and first[entry.uuid] != index:  # written twice
                of[index] = of[first[entry.uuid]]
                continue
            prompt = None
            if kind == "user" and not holds_result(entry):
                prompt = understand(self._file, entry)
                if prompt.kind in _STARTS:
                    self._start(entry, prompt)
                    continue
            place = of[parent] if 0 <= parent < index else NOWHERE
            if place == NOWHERE:
                place = len(turns) - 1
            of[index] = place
            if kind != "progress" and place != NOWHERE:
                self._add(turns[place], entry, prompt)

    def _start(self, entry: Entry, prompt: Prompt) -> None:
        for queued in self._queue:  # some clients take it out of the queue without saying so
            if queued.text == prompt.text:
                self._queue.remove(queued)
                break
        self._of[entry.index] = len(self.all)
        self.all.append(Turn(len(self.all), entry, prompt.kind, prompt, entry))

    def _add(self, turn: Turn, entry: Entry, prompt: Prompt | None) -> None:
        """Take note of what an entry says about its turn."""
        kind = entry.type
        if kind == "assistant":
            if not _is_filler(entry):
                turn.answered, turn.interrupted, turn.last = True, False, entry
        elif kind == "user":
            if prompt is None:  # a result
                turn.answered, turn.interrupted, turn.last = False, False, entry
            else:
                self._said(turn, entry, prompt.kind)
        elif kind == "queue-operation":
            self._queued(turn, entry)
        elif entry.subtype in _OF_THE_WORK:
            turn.last = entry
            if entry.subtype == "turn_duration":
                duration = self._file.body(entry).get("durationMs")
                if isinstance(duration, int | float) and math.isfinite(duration):
                    turn.duration_ms = round(duration)
        elif entry.kind == "queued_command":
            self._absorb(turn, entry)

    def _said(self, turn: Turn, entry: Entry, kind: str) -> None:
        """A user entry that is no result and starts no turn of its own."""
        turn.interrupted = kind == "interrupt"
        turn.answered = turn.answered and not turn.interrupted
        if kind == "meta":  # such as the note before a command that was typed hours later
            turn.expanded = turn.expanded or entry.parent_uuid == turn.start.uuid
        else:
            turn.last = entry

    def _absorb(self, turn: Turn, entry: Entry) -> None:
        """Text that was typed while the turn worked, as the newest clients write it."""
        attachment = self._file.body(entry).get("attachment")
        prompt = read_queued(attachment if isinstance(attachment, dict) else {})
        if prompt.is_typed and prompt.text:
            turn.further.append(prompt.text)

    def _queued(self, turn: Turn, entry: Entry) -> None:
        """The same as older clients write it: put into the queue, and taken out without becoming an entry."""
        body = self._file.body(entry)
        operation, prompt = body.get("operation"), read({"message": {"content": body.get("content")}})
        if operation == "enqueue":
            if not prompt.text.startswith(
                "{"
            ):  # 2.1.45 also notes the start of background tasks, and never takes that out
                self._queue.append(prompt)
        elif operation == "popAll":
            self._queue.clear()
        elif self._queue:
            prompt = self._queue.pop(0)
            if operation == "remove" and not self._has_attached() and prompt.is_typed and prompt.text:
                turn.further.append(prompt.text)

    def _has_attached(self) -> bool:
        return any(entry.kind == "queued_command" for entry in self._entries)

    def _fill(self, messages: Iterable[Message], calls: Iterable[Call]) -> None:
        of, turns = self._of, self.all
        for message in messages:
            if (place := of[message.lines[0].index]) != NOWHERE:
                turns[place].messages.append(message)
        for call in calls:
            if (place := of[call.line.index]) != NOWHERE:
                turns[place].calls.append(call)

    def _drop_idle(self) -> None:
        """Take back commands and notifications that set off no work: they start no turn."""
        kept = [turn for turn in self.all if turn.kind not in ONLY_WITH_WORK or turn.expanded or _worked(turn)]
        if len(kept) < len(self.all):
            places = {turn.index: place for place, turn in enumerate(kept)}
            self._of = [places.get(place, NOWHERE) for place in self._of]
            self.all = kept
            for place, turn in enumerate(kept):
                turn.index = place


def _is_filler(entry: Entry) -> bool:
    """Whether an answer is the one that the client writes when it goes on after none was given."""
    return entry.message is not None and entry.message.model == SYNTHETIC and not entry.is_api_error_message


def _worked(turn: Turn) -> bool:
    return any(not message.is_synthetic for message in turn.messages)


def _outcome(turn: Turn, *, is_last: bool) -> Outcome:
    if turn.interrupted:
        return "interrupted"
    said = (message for message in reversed(turn.messages) if message.is_error or not message.is_synthetic)
    last = next(said, None)
    if last is not None and last.is_error:
        return "error"
    unanswered = [call for call in turn.calls if call.result is None and last and call.message == last.key]
    if any(call.name in WAITS_FOR_PERSON for call in unanswered):
        return "waiting" if is_last else "interrupted"
    if (turn.answered and not unanswered) or (turn.kind == "bash" and not turn.messages):
        return "finished"
    return "open" if is_last else "interrupted"


def round_type(entry: Entry, turns: Turns) -> str:
    """How a user entry follows on what was before it (new_session, continue, new_round, resume)."""
    turn = turns.of(entry)
    return turn.round if turn is not None and turn.start is entry else "continue"
