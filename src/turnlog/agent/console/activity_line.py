"""One line about the work in progress: what happens, for how long, how many tokens, and how to interrupt it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from turnlog.agent.events import AnswerStreamed, CallEnded, CallProgress, CallStarted, ConversationCompacted, TurnEvent
from turnlog.model.events import (
    AnswerEnded,
    BlockStarted,
    InputPart,
    ModelEvent,
    RetryStarted,
    TextPart,
    ThinkingPart,
)
from turnlog.render.call_titles import build_call_title
from turnlog.render.figures import format_thousands
from turnlog.render.terminal import TerminalScreen, cut_to_cells, measure_width, to_visible_line

_DEFAULT_ACTIVITY = "Working"
_CHARS_PER_TOKEN = 4
_MAX_ACTIVITY_CHARS = 200
_MIN_ACTIVITY_CELLS = 10
_BLOCK_ACTIVITIES = {"thinking": "Thinking", "redacted_thinking": "Thinking", "text": "Writing"}


class ActivityLine:
    """Follows the events of a turn."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._calls: dict[str, str] = {}
        """The running calls of the session itself, by id."""
        self.begin()

    def begin(self) -> None:
        self._start = self._clock()
        self._calls.clear()
        self._activity = _DEFAULT_ACTIVITY
        self._task = ""
        """The item of the model's list of tasks that it is working on."""
        self._tokens = 0
        """Tokens of complete answers."""
        self._chars: dict[str | None, int] = {}
        """Characters of incomplete answers, by sub-agent."""
        self._frame: tuple[int, str, int | None] = (-1, "", None)
        self._text = ""

    def watch(self, event: TurnEvent, cwd: str = "") -> None:
        if isinstance(event, AnswerStreamed):
            self._count_tokens(event.event, event.agent)
            if event.agent is None:
                self._follow_answer(event.event)
        elif isinstance(event, CallStarted):
            self._set_activity(f"{event.name} {build_call_title(event.name, event.arguments, cwd)}")
            if event.agent is None:
                self._calls[event.call] = self._activity
        elif isinstance(event, CallProgress):
            self._follow_progress(event.call, event.data)
        elif isinstance(event, CallEnded):
            self._follow_call_end(event)
        elif isinstance(event, ConversationCompacted):
            self._set_activity(_DEFAULT_ACTIVITY)

    def render(self, look: TerminalScreen) -> str:
        """Render the line; it changes at most once a second unless the activity changes."""
        seconds = int(self._clock() - self._start)
        frame = (seconds, self._activity, look.width)
        if frame != self._frame:
            self._frame = frame
            tokens = self._tokens + sum(self._chars.values()) // _CHARS_PER_TOKEN
            facts = [_format_seconds(seconds), f"{format_thousands(tokens)} tokens" if tokens else ""]
            end = f" ({' · '.join(filter(None, (*facts, 'Esc to interrupt')))})"
            room = max((look.width or 80) - measure_width(end) - 3, _MIN_ACTIVITY_CELLS)
            line = f"✻ {cut_to_cells(self._activity, room)}{end}"
            self._text = look.paint(cut_to_cells(line, max((look.width or 80) - 1, 1)), "cyan")
        return self._text

    def _set_activity(self, text: str) -> None:
        self._activity = to_visible_line(text[:_MAX_ACTIVITY_CHARS])

    def _count_tokens(self, event: ModelEvent, agent: str | None) -> None:
        if isinstance(event, TextPart | ThinkingPart):
            self._chars[agent] = self._chars.get(agent, 0) + len(event.text)
        elif isinstance(event, InputPart):
            self._chars[agent] = self._chars.get(agent, 0) + len(event.json)
        elif isinstance(event, AnswerEnded):
            self._chars.pop(agent, None)
            tokens = event.usage.get("output_tokens")
            self._tokens += tokens if isinstance(tokens, int) else 0
        elif isinstance(event, RetryStarted):
            self._chars.pop(agent, None)

    def _follow_answer(self, event: ModelEvent) -> None:
        if isinstance(event, BlockStarted):
            kind = str(event.block.get("type"))
            if kind == "tool_use":
                self._set_activity(f"Preparing {event.block.get('name')}")
            else:
                self._set_activity(self._task or _BLOCK_ACTIVITIES.get(kind, _DEFAULT_ACTIVITY))
        elif isinstance(event, RetryStarted):
            self._set_activity(f"Waiting to try again ({event.reason})")

    def _follow_progress(self, call: str, data: Mapping[str, Any]) -> None:
        """Show the last line of a command's output."""
        _, _, last = str(data.get("output") or "").rstrip().rpartition("\n")
        if last:
            self._set_activity(f"{self._calls.get(call, 'Command')[: _MAX_ACTIVITY_CHARS // 4]}: {last}")

    def _follow_call_end(self, event: CallEnded) -> None:
        if event.name == "TodoWrite" and event.agent is None:
            self._task = _find_current_task(event.arguments)
        if event.agent is None:
            self._calls.pop(event.call, None)
        self._set_activity(next(reversed(self._calls.values()), self._task or _DEFAULT_ACTIVITY))


def _find_current_task(arguments: Mapping[str, Any]) -> str:
    todos = arguments.get("todos")
    for todo in todos if isinstance(todos, list) else []:
        if isinstance(todo, Mapping) and todo.get("status") == "in_progress":
            return str(todo.get("activeForm") or todo.get("content") or "")
    return ""


def _format_seconds(seconds: int) -> str:
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min {seconds % 60} s"
