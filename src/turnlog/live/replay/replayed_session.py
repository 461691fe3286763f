"""A session that is played back: its events with their times and turns, and the details that events leave out.

Events are short by design. The whole text of an answer, or the diff of an edit, is read from the entry that an event
names, when the replay reaches it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.errors import UsageError
from turnlog.live.events.event import (
    MAIN_ACTOR,
    MAX_EVENT_TEXT_CHARS,
    AnyEvent,
    CallFinished,
    PlanProposed,
    PromptTyped,
    SessionStarted,
    TextAnswered,
)
from turnlog.live.events.file_events import iter_session_events
from turnlog.live.events.fold import to_actor
from turnlog.live.replay.clock import DEFAULT_MAX_GAP_SECONDS, schedule_times
from turnlog.render.call_results import ResultView
from turnlog.session.agents import SubAgent
from turnlog.session.calls import Call
from turnlog.session.clock import parse_timestamp
from turnlog.session.failures import to_result_text
from turnlog.session.session import Session

LongTextEvent = TextAnswered | PromptTyped | PlanProposed


class Cue(NamedTuple):
    """An event and the time at which the replay shows it."""

    at: float
    """Seconds since the start of the replay, at normal speed."""
    elapsed: float
    """Seconds since the start of the session."""
    turn: int
    """The number of its turn; 0 before the first."""
    event: AnyEvent


class ReplayedSession:
    """The cues of an open session, and access to the details that cues don't contain."""

    def __init__(
        self,
        session: Session,
        *,
        max_gap: float | None = DEFAULT_MAX_GAP_SECONDS,
        from_turn: int | None = None,
        until_turn: int | None = None,
    ) -> None:
        if session.path is None:
            raise UsageError("only a session file can be replayed")
        self.session = session
        events = list(iter_session_events(Path(session.path)))
        actors = {event.actor for event in events}
        self.root = next(iter(actors), MAIN_ACTOR) if MAIN_ACTOR not in actors else MAIN_ACTOR
        """The actor whose file is played: `main`, unless it is a sub-agent's own file."""
        turns = list(self._find_turns(events))
        last = max(turns, default=0)
        if from_turn is not None and from_turn > last:
            raise UsageError(f"{session.path}: there is no turn {from_turn}; the last turn is {last}")
        first = next((n for n, turn in enumerate(turns) if turn >= (from_turn or 0)), 0)
        end = next((n for n, turn in enumerate(turns) if until_turn is not None and turn > until_turn), len(turns))
        if first >= end and turns:
            raise UsageError(f"there is nothing to replay from turn {from_turn} to turn {until_turn}")
        self.earlier = events[:first]
        """The events before the first one to play; they determine the state at its start."""
        times = schedule_times((_to_seconds(event.time) for event in events[first:end]), max_gap)
        self.cues = [
            Cue(time.at, time.elapsed, turn, event)
            for time, turn, event in zip(times, turns[first:end], events[first:end], strict=True)
        ]

    @cached_property
    def title(self) -> str:
        """The title of the session; its id if it has none."""
        return self.session.title or self.session.session_id or "session"

    @cached_property
    def last_turn(self) -> int:
        """The number of the last turn that is played."""
        return max((cue.turn for cue in self.cues), default=0)

    @property
    def duration(self) -> float:
        """The length of the replay in seconds, at normal speed."""
        return self.cues[-1].at if self.cues else 0.0

    def _find_turns(self, events: list[AnyEvent]) -> Iterator[int]:
        """Yield the number of the turn in which each event happened; it never decreases."""
        find = self.session.find_turn
        numbers = {entry.offset: turn.number for entry in self.session.entries if (turn := find(entry)) is not None}
        latest = 0
        for event in events:
            if event.actor == self.root and event.offset is not None:
                latest = max(latest, numbers.get(event.offset, 0))
            yield latest

    # -- what events leave out

    def read_turn_text(self, number: int) -> tuple[str, str]:
        """Return the kind of a turn, and the text that started it."""
        turns = self.session.turns
        if not 1 <= number <= len(turns):
            return "", ""
        turn = turns[number - 1]
        origin = turn.origin
        return turn.kind, (origin.summary if origin and origin.summary else turn.text)

    def read_text(self, event: LongTextEvent) -> str:
        """Return the whole text of an event; the event itself contains only its start."""
        if len(event.text) < MAX_EVENT_TEXT_CHARS or event.offset is None:
            return event.text
        session = self._find_session(event.actor)
        entry = self._offsets(event.actor).get(event.offset)
        texts = _iter_strings(session.read_body(entry)) if session is not None and entry is not None else iter(())
        return next((text for text in texts if text.lstrip().startswith(event.text.lstrip())), event.text)

    def read_result(self, event: CallFinished) -> ResultView:
        """Return the result of a call as the client recorded it."""
        call = self._calls(event.actor).get(event.call)
        session = self._find_session(event.actor)
        is_failed, is_rejected = event.outcome in ("failed", "interrupted"), event.outcome == "rejected"
        milliseconds = int((event.seconds or 0) * 1000)
        if call is None or session is None or call.result is None or call.result.offset != event.offset:
            return ResultView(event.tool, {}, event.text, None, is_failed, is_rejected, milliseconds)
        detail = session.read_detail(call)
        text = to_result_text(detail.result)
        return ResultView(event.tool, detail.input, text, detail.structured, is_failed, is_rejected, milliseconds)

    def is_late_result(self, event: CallFinished) -> bool:
        """Return whether an event reports the end of a background task, whose call already had a result."""
        call = self._calls(event.actor).get(event.call)
        return call is not None and call.result is not None and call.result.offset != event.offset

    def name_agent(self, actor: str) -> str:
        """Return the name to show for a sub-agent: its task, or else its type or id."""
        agent = self._agents.get(actor)
        return (agent.description or agent.type or actor) if agent is not None else actor

    @cached_property
    def start(self) -> SessionStarted | None:
        """The event that opens the session."""
        events = (event for event in (*self.earlier, *(cue.event for cue in self.cues[:50])))
        return next((event for event in events if isinstance(event, SessionStarted)), None)

    @cached_property
    def _agents(self) -> Mapping[str, SubAgent]:
        return {to_actor(agent.agent_id): agent for agent in self.session.agents}

    def _find_session(self, actor: str) -> Session | None:
        if actor == self.root:
            return self.session
        agent = self._agents.get(actor)
        return self.session.open_agent_session(agent) if agent is not None else None

    @cached_property
    def _known_calls(self) -> dict[str, dict[str, Call]]:
        return {}

    def _calls(self, actor: str) -> dict[str, Call]:
        if actor not in self._known_calls:
            session = self._find_session(actor)
            self._known_calls[actor] = {call.id: call for call in session.calls} if session is not None else {}
        return self._known_calls[actor]

    @cached_property
    def _known_offsets(self) -> dict[str, dict[int, Any]]:
        return {}

    def _offsets(self, actor: str) -> dict[int, Any]:
        if actor not in self._known_offsets:
            session = self._find_session(actor)
            entries = session.entries if session is not None else ()
            self._known_offsets[actor] = {entry.offset: entry for entry in entries}
        return self._known_offsets[actor]


def _to_seconds(time: str | None) -> float | None:
    moment: datetime | None = parse_timestamp(time)
    return None if moment is None else moment.timestamp()


def _iter_strings(value: Any) -> Iterator[str]:
    """Yield the strings in a decoded entry, at any depth."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
