"""The state that a fold keeps between entries, in bounded memory."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from turnlog.entries.entry import Entry
from turnlog.live.events.call_tracker import EventPlace
from turnlog.live.events.event import MAX_EVENT_TEXT_CHARS, ThinkLevel
from turnlog.session.prompts import Prompt

MAX_FIELD_CHARS = 1000
_MAX_QUEUED_PROMPTS = 100
_MAX_QUEUED_CHARS = 2 * MAX_EVENT_TEXT_CHARS
_MAX_AWAITED_PARENTS = 32


class _QueuedText(NamedTuple):
    """A prompt or message that is waiting in the client's queue."""

    prompt: Prompt
    was_working: bool
    """Whether the model was working when it was queued."""


class PromptQueue:
    """The prompts and messages that have not reached the model yet."""

    def __init__(self) -> None:
        self._items: list[_QueuedText] = []
        self._removed: _QueuedText | None = None
        """What left the queue last, and may follow as an entry."""

    def add(self, prompt: Prompt, *, was_working: bool) -> None:
        # 2.1.45 also queues the start of background tasks, as JSON, and never removes it.
        if len(self._items) < _MAX_QUEUED_PROMPTS and not prompt.text.startswith("{"):
            kept = prompt._replace(text=prompt.text[:_MAX_QUEUED_CHARS], context=())
            self._items.append(_QueuedText(kept, was_working))

    def clear(self) -> None:
        self._items.clear()

    def remove_first(self) -> Prompt | None:
        """Remove the oldest item in the queue."""
        if not self._items:
            return None
        self._removed = self._items.pop(0)
        return self._removed.prompt

    def take(self, prompt: Prompt) -> bool:
        """Remove an item that has become an entry; return whether it was queued while the model was working."""
        text = prompt.text[:_MAX_QUEUED_CHARS]
        last, self._removed = self._removed, None
        if last is not None and last.prompt.text == text:
            return last.was_working
        for place, queued in enumerate(self._items):
            if queued.prompt.text == text:
                return self._items.pop(place).was_working
        return False


class RequestState(Struct):
    """The latest request to the API."""

    digest: int | None = None
    attempt: int = 0
    is_reported: bool = False
    """Whether an entry reported that it failed."""


class TurnState:
    """What is known about the current turn."""

    def __init__(self) -> None:
        self.state = ""
        """open, finished, interrupted or error; empty before the first turn."""
        self.started: str | None = None
        self.think: ThinkLevel = "none"
        self.has_answer = False
        self.last_text: EventPlace | None = None
        """The place of the last entry, if it is a text that may be the last one of the turn."""
        self._message: str | None = None
        self._awaited: dict[str, None] = {}
        """The parents of answers without a prompt, which may still be written."""

    @property
    def is_open(self) -> bool:
        return self.state == "open"

    def open(self, time: str | None, think: ThinkLevel) -> None:
        """Start a turn with a prompt."""
        self.state, self.started, self.think, self.last_text = "open", time, think, None
        self.has_answer = False
        self._awaited.clear()

    def close(self, state: str) -> None:
        self.state, self.last_text = state, None

    def expect_answer(self, time: str | None, think: ThinkLevel) -> None:
        """Record a command, a notification or an agent's message, which starts a turn if the model answers it."""
        if not self.is_open:
            self.started, self.think = time, think

    def note_answer(self, message: str | None, parent: str | None, time: str | None) -> None:
        """Open the turn if a new message shows that the model is working."""
        if not self.is_open and (message is None or message != self._message):
            if parent and len(self._awaited) < _MAX_AWAITED_PARENTS:
                self._awaited[parent[:MAX_FIELD_CHARS]] = None
            self.started = self.started or time
            self.state = "open"
        self._message, self.has_answer = message, True

    def note_parent(self, entry: Entry) -> None:
        """Follow the ancestors of an answer whose prompt is still missing."""
        if self._awaited and entry.uuid in self._awaited and entry.parent_uuid and entry.type != "assistant":
            self._awaited[entry.parent_uuid[:MAX_FIELD_CHARS]] = None

    def is_late_prompt(self, entry: Entry) -> bool:
        """Return whether an answer to the prompt was already read."""
        if entry.uuid is None or entry.uuid not in self._awaited:
            return False
        del self._awaited[entry.uuid]
        return True


class RecentKeys:
    """Remembers the latest keys as numbers: at most a limit, and at least half of it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._new: set[int] = set()
        self._old: set[int] = set()

    def contains(self, key: object) -> bool:
        """Return whether a key was added and has not been forgotten."""
        number = hash(key)
        return number in self._new or number in self._old

    def add(self, key: object) -> bool:
        """Remember a key; return whether it is new."""
        number = hash(key)
        if number in self._new or number in self._old:
            return False
        self._new.add(number)
        if 2 * len(self._new) > self._limit:
            self._old, self._new = self._new, set()
        return True
