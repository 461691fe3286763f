"""Turns: what a person started, and everything that followed from it.

A turn is started by what a person typed: a prompt, a slash command or skill that reaches the model, a `!` command. Work
that a background task's notification set off is a turn of its own kind. Everything else belongs to the turn it
descends from; text that was typed while a turn was at work is a further prompt of that turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Literal

from msgspec import Struct

from ..entries.entry import Entry
from ..entries.reader import Transcript
from .calls import WAITS_FOR_PERSON, Call
from .clock import moment
from .graph import holds_result
from .messages import Message
from .prompts import Prompt, understand

TurnKind = Literal["prompt", "command", "bash", "notification", "teammate"]
Outcome = Literal["finished", "interrupted", "error", "waiting", "open"]
Round = Literal["new_session", "new_round", "resume"]
"""How a turn follows on what was before it; `continue` is what a mere result of a call would be."""

GAP = timedelta(minutes=5)
NOWHERE = -1
_STARTS = frozenset({"prompt", "command", "bash", "notification", "teammate"})
_ONLY_WITH_WORK = frozenset({"command", "notification", "teammate"})


class Turn(Struct):
    """One turn."""

    index: int
    start: Entry
    kind: TurnKind
    prompt: Prompt
    last: Entry
    """The last entry that belongs to it."""
    further: list[str] = []
    """What was typed while it was at work."""
    messages: list[Message] = []
    calls: list[Call] = []
    duration_ms: int | None = None
    outcome: Outcome = "open"
    round: Round = "new_round"
    interrupted: bool = False
    answered: bool = False
    """Whether the last thing in it is an answer, and no result or prompt that waits for one."""
    expanded: bool = False
    """Whether the client added a command's or skill's text to the prompt."""

    @property
    def text(self) -> str:
        """What was typed, or what the notification says."""
        return self.prompt.text

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

    def __init__(self, file: Transcript, entries: Sequence[Entry]) -> None:
        self._file = file
        self.all: list[Turn] = []
        self._of = [NOWHERE] * len(file.entries)
        self._queue: list[str] = []
        self._attached = any(entry.kind == "queued_command" for entry in entries if entry.type == "attachment")
        for entry in entries:
            self._take(entry)
        self._drop_idle()

    def of(self, entry: Entry) -> Turn | None:
        """The turn that an entry belongs to."""
        place = self._of[entry.index]
        return self.all[place] if place != NOWHERE else None

    def _take(self, entry: Entry) -> None:
        prompt = None
        if entry.type == "user" and not holds_result(entry):
            prompt = understand(self._file, entry)
            if prompt.kind in _STARTS:
                self._of[entry.index] = len(self.all)
                self.all.append(Turn(len(self.all), entry, prompt.kind, prompt, entry))  # type: ignore[arg-type]
                return
        place = self._of[entry.index] = self._inherited(entry)
        if place == NOWHERE:
            return
        turn = self.all[place]
        if entry.type == "queue-operation":
            self._queued(turn, entry)
        elif entry.uuid is not None:
            self._add(turn, entry, prompt)

    def _inherited(self, entry: Entry) -> int:
        """The turn of the parent, or of what was written just before."""
        parent = self._file.by_uuid.get(entry.parent_uuid) if entry.parent_uuid else None
        if parent is not None and parent < entry.index and self._of[parent] != NOWHERE:
            return self._of[parent]
        return len(self.all) - 1

    def _add(self, turn: Turn, entry: Entry, prompt: Prompt | None) -> None:
        if entry.type == "assistant":
            turn.answered, turn.interrupted = True, False
        elif entry.type == "user":
            kind = prompt.kind if prompt else "result"
            turn.interrupted = kind == "interrupt"
            turn.answered = turn.answered and kind not in ("result", "interrupt")
            turn.expanded = turn.expanded or (kind == "meta" and entry.parent_uuid == turn.start.uuid)
        elif entry.subtype == "turn_duration":
            duration = self._file.body(entry).get("durationMs")
            turn.duration_ms = round(duration) if isinstance(duration, int | float) else turn.duration_ms
        elif entry.kind == "queued_command":
            self._absorb(turn, entry)
        if entry.type != "progress":
            turn.last = entry

    def _absorb(self, turn: Turn, entry: Entry) -> None:
        """Text that was typed while the turn worked, as the newest clients write it."""
        attachment = self._file.body(entry).get("attachment") or {}
        origin = attachment.get("origin")
        person = not isinstance(origin, dict) or origin.get("kind") in (None, "human")
        text = _text(attachment.get("prompt"))
        if person and text and not text.startswith("<task-notification>"):
            turn.further.append(text)

    def _queued(self, turn: Turn, entry: Entry) -> None:
        """The same as older clients write it: put into the queue, and taken out without becoming an entry."""
        body = self._file.body(entry)
        operation, text = body.get("operation"), _text(body.get("content"))
        if operation == "enqueue":
            self._queue.append(text)
        elif operation == "popAll":
            self._queue.clear()
        elif self._queue:
            text = self._queue.pop(0)
            absorbed = operation == "remove" and not self._attached
            if absorbed and text and not text.startswith(("<task-notification>", "{")):
                turn.further.append(text)

    def _drop_idle(self) -> None:
        """Take back commands and notifications that set off no work: they start no turn."""
        working = {place for place in map(self._worked, self._file.entries) if place is not None}
        kept = [t for t in self.all if t.kind not in _ONLY_WITH_WORK or t.index in working or t.expanded]
        places = {turn.index: place for place, turn in enumerate(kept)}
        if len(kept) < len(self.all):
            self._of = [places.get(place, NOWHERE) for place in self._of]
        for place, turn in enumerate(kept):
            turn.index = place
        self.all = kept

    def _worked(self, entry: Entry) -> int | None:
        real = entry.type == "assistant" and entry.message is not None and entry.message.model != "<synthetic>"
        return self._of[entry.index] if real else None

    def fill(self, messages: Iterable[Message], calls: Iterable[Call], gap: timedelta = GAP) -> None:
        """Give each turn its messages and calls, and say how it ended."""
        for message in messages:
            if turn := self.of(message.lines[0]):
                turn.messages.append(message)
        for call in calls:
            if turn := self.of(call.line):
                turn.calls.append(call)
        for before, turn in zip([None, *self.all], self.all, strict=False):
            turn.outcome = _outcome(turn, is_last=turn.index == len(self.all) - 1)
            turn.round = _round(before, turn, gap)


def _text(content: object) -> str:
    if isinstance(content, str):
        return content.strip()
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return "\n".join(str(block["text"]) for block in blocks if isinstance(block.get("text"), str)).strip()


def _outcome(turn: Turn, *, is_last: bool) -> Outcome:
    if turn.interrupted:
        return "interrupted"
    if turn.messages and turn.messages[-1].is_error:
        return "error"
    unanswered = [call for call in turn.calls if call.result is None]
    if any(call.name in WAITS_FOR_PERSON for call in unanswered):
        return "waiting" if is_last else "interrupted"
    if (turn.answered and not unanswered) or (turn.kind == "bash" and not turn.messages):
        return "finished"
    return "open" if is_last else "interrupted"


def _round(before: Turn | None, turn: Turn, gap: timedelta) -> Round:
    if before is None:
        return "new_session"
    then, now = moment(before.ended), moment(turn.started)
    return "resume" if then and now and now - then > gap else "new_round"


def round_type(entry: Entry, turns: Turns) -> str:
    """How a user entry follows on what was before it (new_session, continue, new_round, resume)."""
    turn = turns.of(entry)
    return turn.round if turn is not None and turn.start is entry else "continue"


def current(turns: Sequence[Turn], rows: Mapping[str, object]) -> list[Turn]:
    """The turns that are on a branch given by the uuids of its rows."""
    return [turn for turn in turns if turn.start.uuid in rows]
