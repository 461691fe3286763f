"""Turns: what a person started, and everything that followed from it.

A turn starts with what a person typed: a prompt, a slash command or skill that is sent to the model, or a `!` command.
Work triggered by a background task's notification or another agent's message forms a turn with a kind of its own. Every
other entry belongs to the turn from which it descends; text typed while a turn was running is a further prompt in that
turn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import cached_property
from typing import Literal

from msgspec import Struct

from turnlog.entries.entry import Entry
from turnlog.entries.old_names import OldName
from turnlog.entries.reader import Transcript, pause_garbage_collector
from turnlog.entries.speakers import Speaker
from turnlog.session.calls import TOOLS_WAITING_FOR_PERSON, Call
from turnlog.session.clock import parse_timestamp
from turnlog.session.graph import holds_result
from turnlog.session.messages import Message
from turnlog.session.notices import Notice, parse_notice
from turnlog.session.prompts import Prompt, parse_queued_prompt, parse_user_body, parse_user_entry
from turnlog.session.usage.prices import SYNTHETIC_MODEL
from turnlog.session.waiting_prompts import WaitingPrompts

TURN_KINDS = ("prompt", "command", "bash", "notification", "teammate", "peer", "other")
KINDS_NEEDING_WORK = frozenset({"command", "notification", "teammate", "peer", "other"})
"""Kinds that start a turn only if the model responded to them."""
TurnOutcome = Literal["finished", "interrupted", "error", "waiting", "open"]
RoundType = Literal["new_session", "new_round", "resume"]
"""How a turn relates to what came before; a mere call result would be `continue`."""

RESUME_GAP = timedelta(minutes=5)
NO_TURN = -1
_STARTING_KINDS = frozenset(TURN_KINDS)
_WORK_SUBTYPES = frozenset({"turn_duration", "stop_hook_summary", "api_error"})
"""System entries that are written while a turn is running; others may come hours later."""


class Turn(Struct, gc=False):
    """A prompt and everything that followed until the next prompt."""

    index: int
    """Its position in `Session.turns`."""
    start: Entry
    kind: str
    """One of TURN_KINDS."""
    prompt: Prompt
    last: Entry
    """The last entry of its work."""
    further: list[str] = []
    """Text that was typed while the turn was running."""
    messages: list[Message] = []
    calls: list[Call] = []
    duration_ms: int | None = None
    outcome: TurnOutcome = "open"
    previous_ended: str | None = None
    """When the previous turn ended."""
    gap: timedelta = RESUME_GAP
    """The minimum pause before a turn that counts as a resumption."""
    interrupted: bool = False
    answered: bool = False
    """Whether the turn ends with an answer rather than a result or prompt that is waiting for one."""
    expanded: bool = False
    """Whether the client added the text of a command or skill to the prompt."""

    @property
    def number(self) -> int:
        """The number shown to people, starting at 1 (`turnlog show --turn`)."""
        return self.index + 1

    @property
    def text(self) -> str:
        """What was typed, or the text of the notification or message."""
        return self.prompt.text

    @property
    def speaker(self) -> Speaker:
        """Who started the turn."""
        return self.prompt.speaker

    @property
    def origin(self) -> Notice | None:
        """The background task whose notification triggered the work."""
        return parse_notice(self.text) if self.kind == "notification" else None

    @property
    def round(self) -> RoundType:
        """How the turn relates to what came before."""
        if self.index == 0:
            return "new_session"
        then, now = parse_timestamp(self.previous_ended), parse_timestamp(self.started_at)
        return "resume" if then and now and now - then > self.gap else "new_round"

    @property
    def started_at(self) -> str | None:
        """The timestamp of the first entry."""
        return self.start.timestamp

    @property
    def ended_at(self) -> str | None:
        """The timestamp of the last entry."""
        return self.last.timestamp

    started = OldName("started_at")
    ended = OldName("ended_at")


class TurnIndex:
    """The turns of a session, and the turn of each entry."""

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
        self._of = [NO_TURN] * len(file.entries)
        """For each entry of the file, the turn that it belongs to."""
        self._queue = WaitingPrompts()
        self._entries = entries
        with pause_garbage_collector():
            self._assign_turns(entries)
            self._fill_turns(messages, calls)
        self._drop_idle_turns()
        ended = None
        for turn in self.all:
            turn.outcome = _judge_outcome(turn, is_last=turn is self.all[-1])
            turn.previous_ended, turn.gap = ended, gap
            ended = turn.ended_at

    def find_turn(self, entry: Entry) -> Turn | None:
        place = self._of[entry.index]
        if place == NO_TURN and self._file.repeated and entry.uuid is not None:  # it may be a replay
            place = self._of[self._file.by_uuid[entry.uuid]]
        return self.all[place] if place != NO_TURN else None

    def _assign_turns(self, entries: Iterable[Entry]) -> None:
        """Assign each entry to its parent's turn or, if there is none, to the turn that was running just before."""
        of, turns = self._of, self.all
        first = self._file.by_uuid if self._file.repeated else {}
        for entry in entries:
            index, kind, parent = entry.index, entry.type, entry.parent
            if first and entry.uuid is not None and first[entry.uuid] != index:  # a repeated entry
                of[index] = of[first[entry.uuid]]
                continue
            prompt = None
            if kind == "user" and not holds_result(entry):
                prompt = parse_user_entry(self._file, entry)
                if prompt.kind in _STARTING_KINDS:
                    self._start_turn(entry, prompt)
                    continue
            place = of[parent] if 0 <= parent < index else NO_TURN
            if place == NO_TURN:
                place = len(turns) - 1
            of[index] = place
            if kind != "progress" and place != NO_TURN:
                self._add_entry(turns[place], entry, prompt)

    def _start_turn(self, entry: Entry, prompt: Prompt) -> None:
        self._queue.drop_text(prompt.text)  # some clients dequeue a prompt without recording it
        self._of[entry.index] = len(self.all)
        self.all.append(Turn(len(self.all), entry, prompt.kind, prompt, entry))

    def _add_entry(self, turn: Turn, entry: Entry, prompt: Prompt | None) -> None:
        """Update a turn with one of its entries."""
        kind = entry.type
        if kind == "assistant":
            if not _is_filler(entry):
                turn.answered, turn.interrupted, turn.last = True, False, entry
        elif kind == "user":
            if prompt is None:  # a result
                turn.answered, turn.interrupted, turn.last = False, False, entry
            else:
                self._add_user_entry(turn, entry, prompt.kind)
        elif kind == "queue-operation":
            self._absorb_queued_text(turn, entry)
        elif entry.subtype in _WORK_SUBTYPES:
            turn.last = entry
            if entry.subtype == "turn_duration":
                duration = self._file.read_body(entry).get("durationMs")
                if isinstance(duration, int | float) and math.isfinite(duration):
                    turn.duration_ms = round(duration)
        elif entry.kind == "queued_command":
            self._absorb_typed_text(turn, entry)

    def _add_user_entry(self, turn: Turn, entry: Entry, kind: str) -> None:
        """Update a turn with a user entry that is not a result and does not start a turn."""
        turn.interrupted = kind == "interrupt"
        turn.answered = turn.answered and not turn.interrupted
        if kind == "meta":  # such as the note before a command that was typed hours later
            turn.expanded = turn.expanded or entry.parent_uuid == turn.start.uuid
        else:
            turn.last = entry

    def _absorb_typed_text(self, turn: Turn, entry: Entry) -> None:
        """Add text that was typed while the turn was running, as the newest clients record it."""
        attachment = self._file.read_body(entry).get("attachment")
        prompt = parse_queued_prompt(attachment if isinstance(attachment, dict) else {})
        if prompt.is_typed and prompt.text:
            turn.further.append(prompt.text)

    def _absorb_queued_text(self, turn: Turn, entry: Entry) -> None:
        """Add text typed during the turn as older clients record it: queued, then dequeued without an entry."""
        body = self._file.read_body(entry)
        operation, prompt = body.get("operation"), parse_user_body({"message": {"content": body.get("content")}})
        if operation == "enqueue":
            # 2.1.45 also queues the start of background tasks, and never dequeues it.
            if not prompt.text.startswith("{"):
                self._queue.add(prompt)
        elif operation == "popAll":
            self._queue.clear()
        else:
            first = self._queue.take_first()
            if first and operation == "remove" and not self._has_attached and first.is_typed and first.text:
                turn.further.append(first.text)

    @cached_property
    def _has_attached(self) -> bool:
        return any(entry.kind == "queued_command" for entry in self._entries)

    def _fill_turns(self, messages: Iterable[Message], calls: Iterable[Call]) -> None:
        of, turns = self._of, self.all
        for message in messages:
            if (place := of[message.lines[0].index]) != NO_TURN:
                turns[place].messages.append(message)
        for call in calls:
            if (place := of[call.line.index]) != NO_TURN:
                turns[place].calls.append(call)

    def _drop_idle_turns(self) -> None:
        """Remove turns for commands and notifications that did not trigger any work."""
        remaining = [
            turn for turn in self.all if turn.kind not in KINDS_NEEDING_WORK or turn.expanded or _has_worked(turn)
        ]
        if len(remaining) < len(self.all):
            places = {turn.index: place for place, turn in enumerate(remaining)}
            self._of = [places.get(place, NO_TURN) for place in self._of]
            self.all = remaining
            for place, turn in enumerate(remaining):
                turn.index = place


def _is_filler(entry: Entry) -> bool:
    """Return whether an answer is the placeholder that the client writes when it continues without an answer."""
    return entry.message is not None and entry.message.model == SYNTHETIC_MODEL and not entry.is_api_error_message


def _has_worked(turn: Turn) -> bool:
    return any(not message.is_synthetic for message in turn.messages)


def _judge_outcome(turn: Turn, *, is_last: bool) -> TurnOutcome:
    if turn.interrupted:
        return "interrupted"
    answers = (message for message in reversed(turn.messages) if message.is_error or not message.is_synthetic)
    last = next(answers, None)
    if last is not None and last.is_error:
        return "error"
    unanswered = [call for call in turn.calls if call.result is None and last and call.message == last.key]
    if any(call.name in TOOLS_WAITING_FOR_PERSON for call in unanswered):
        return "waiting" if is_last else "interrupted"
    if (turn.answered and not unanswered) or (turn.kind == "bash" and not turn.messages):
        return "finished"
    return "open" if is_last else "interrupted"


def find_round_type(entry: Entry, turns: TurnIndex) -> str:
    """Return how a user entry relates to what came before (new_session, continue, new_round or resume)."""
    turn = turns.find_turn(entry)
    return turn.round if turn is not None and turn.start is entry else "continue"
