"""A log of what the client does, for a program that looks for a fault (`--debug`, `--debug-file`).

It names requests, calls, hooks and tasks, but contains neither prompts nor answers nor the input of calls.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime

from turnlog.agent.events import (
    AnswerStreamed,
    CallDenied,
    CallEnded,
    CallStarted,
    ConversationCompacted,
    HookEnded,
    HookMessage,
    TurnEnded,
    TurnEvent,
    WarningIssued,
)
from turnlog.agent.tools.task_events import TaskEnded, TaskStarted


class DebugLog:
    """Writes lines in the form of Claude Code's log."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._lock = threading.Lock()

    def add_line(self, text: str) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        with self._lock:
            self._write(f"{now} [DEBUG] {' '.join(text.split())}\n")

    def add_event(self, event: TurnEvent) -> None:
        if text := _describe_event(event):
            self.add_line(text)


def _describe_event(event: TurnEvent) -> str:
    if isinstance(event, AnswerStreamed):
        data = event.event.data
        message = data.get("message") if data.get("type") == "message_start" else None
        return f"{_name_actor(event.agent)}: answer {message['id']} from {message['model']}" if message else ""
    if isinstance(event, CallStarted | CallEnded | CallDenied):
        what = {CallStarted: "started", CallEnded: "ended", CallDenied: "denied"}[type(event)]
        return f"{_name_actor(event.agent)}: call {event.call} of {event.name} {what}"
    if isinstance(event, HookEnded):
        return f"hook {event.name} ended with exit code {event.exit_code}"
    if isinstance(event, TaskStarted | TaskEnded):
        return f"task {event.task} {'started' if isinstance(event, TaskStarted) else event.status}"
    if isinstance(event, TurnEnded):
        return f"turn ended: {event.reason} after {event.milliseconds} ms and {event.turns} requests"
    if isinstance(event, ConversationCompacted):
        return f"conversation compacted ({event.trigger})"
    return event.text if isinstance(event, WarningIssued | HookMessage) else ""


def _name_actor(agent: str | None) -> str:
    return f"sub-agent {agent}" if agent else "session"
