"""Live events for tests, which happen a second after one another."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from turnlog.live.events.event import (
    AgentFinished,
    AnyEvent,
    CallFinished,
    ContextFilled,
    SessionStarted,
    Thought,
    TodoItem,
    TodosChanged,
)
from turnlog.session.clock import to_iso_time

START = datetime(2026, 1, 1, 10, tzinfo=UTC)
SESSION = "11111111-2222-4333-8444-555555555555"
OTHER_SESSION = "99999999-2222-4333-8444-555555555555"
KINDS = ("read", "write", "ok", "failed", "rejected", "background", "think", "ultra", "todo", "agent", "context")


class Story:
    """Builds events with the times and ids of their place in the story."""

    def __init__(self, session: str = SESSION, *, pause: float = 1.0) -> None:
        self.session = session
        self.events: list[AnyEvent] = []
        self._pause = pause
        self._numbers: Iterator[int] = count()
        self._done: list[str] = []

    def add(self, kind: type[AnyEvent], **fields: Any) -> None:
        """Add an event of a class."""
        number = len(self.events)
        time = to_iso_time(START + timedelta(seconds=number * self._pause))
        self.events.append(kind(**{"session": self.session, "time": time, "offset": number, **fields}))

    def start(self) -> None:
        """Add the start of the session."""
        self.add(SessionStarted, cwd="/home/dana/webshop")

    def finish(self, tool: str, category: str, outcome: str = "ok", **fields: Any) -> None:
        """Add the result of a call."""
        self.add(CallFinished, call=f"c{len(self.events)}", tool=tool, category=category, outcome=outcome, **fields)

    def act(self, kind: str, **fields: Any) -> None:
        """Add an event of one of KINDS."""
        match kind:
            case "read":
                self.finish("Read", "read", **fields)
            case "write":
                self.finish("Edit", "write", **fields)
            case "ok" | "failed" | "rejected" | "background":
                self.finish("Bash", "run", kind, **fields)
            case "think" | "ultra":
                self.add(Thought, text=f"thought {len(self.events)}", level=kind, **fields)
            case "todo":
                self._done.append(f"task {len(self.events)}")
                self.add(TodosChanged, items=[TodoItem(text, "completed") for text in self._done], **fields)
            case "agent":
                self.add(AgentFinished, call=f"c{len(self.events)}", **fields)
            case "context":
                self.add(ContextFilled, tokens=1000 + len(self.events), window=200_000, **fields)


def tell(kinds: list[str], session: str = SESSION, *, pause: float = 1.0) -> list[AnyEvent]:
    """Return a whole session in which these things happen."""
    story = Story(session, pause=pause)
    story.start()
    for kind in kinds:
        story.act(kind)
    return story.events
