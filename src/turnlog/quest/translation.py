"""Translates the live events of one session into game events.

    translator = GameTranslator(session_id, facts)
    events = translator.translate(event)

A translation depends only on the events so far. The one thing that events don't say is which call started a sub-agent
whose file has just appeared; `find_call` looks that up. Without an answer, the sub-agents that were started are
assigned in order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, NamedTuple

from turnlog.live.events.event import (
    MAIN_ACTOR,
    AgentFinished,
    AgentStarted,
    AnyEvent,
    CallFinished,
    Category,
    ContextCompacted,
    ContextFilled,
    ErrorOccurred,
    PermissionAwaited,
    PlanProposed,
    PromptTyped,
    QuestionAsked,
    SessionEnded,
    SessionStarted,
    TextAnswered,
    Thought,
    TodosChanged,
    ToolCalled,
    TurnFinished,
    TurnInterrupted,
    WentIdle,
    WorkShipped,
)
from turnlog.live.events.fold import to_actor
from turnlog.quest.experience import is_command
from turnlog.quest.game_event import MAX_GAME_TEXT_CHARS, GameEvent, GameName

BIOME_COUNT = 5
MAX_COMPANIONS = 200
"""The finished ones are forgotten first, so that a session with thousands of sub-agents needs little memory."""
_GAME_BY_CATEGORY: dict[Category, GameName] = {"read": "read", "write": "write", "run": "bash", "web": "web"}
_WORK_EVENTS = PromptTyped | ToolCalled | TextAnswered | Thought | TurnInterrupted | WentIdle
"""Events of the main agent that show that it is not compacting the conversation."""
_MAX_LABEL_CHARS = 60
_MAX_TODOS = 50


class CompanionFacts(NamedTuple):
    """What is known about a sub-agent beside its events."""

    call: str = ""
    """The call that started it; empty if unknown."""
    type: str = ""
    description: str = ""


FindCompanion = Callable[[str], CompanionFacts | None]
"""Returns what is known about the sub-agent that acts under a name."""


class Companion(NamedTuple):
    """A sub-agent that is at work."""

    id: str
    agent_type: str
    description: str


class HeroFacts(NamedTuple):
    """What the hero of a session is called, and where it is at home."""

    session: str
    project: str = ""
    title: str = ""

    @property
    def biome(self) -> int:
        """The number of the project's landscape, which is the same on every machine and at any time."""
        return choose_biome(self.project)


def choose_biome(project: str) -> int:
    """Return the landscape of a project: a stable hash of its folder's path."""
    return int.from_bytes(blake2b(project.encode("utf-8", "replace"), digest_size=4).digest()) % BIOME_COUNT


def cut_text(text: str, limit: int = MAX_GAME_TEXT_CHARS) -> str:
    """Shorten a text to what the game can show."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


class GameTranslator:
    """The game events of one session."""

    def __init__(self, hero: HeroFacts, find_companion: FindCompanion = lambda _: None) -> None:
        self.hero = hero
        self.companions: dict[str, Companion] = {}
        """The companions at work, by id."""
        self.waiting: set[str] = set()
        """The actors that wait for a person."""
        self.is_resting = False
        self.has_entered = False
        self._find_companion = find_companion
        self._ids: dict[str, str] = {}
        """The companion of each actor."""
        self._waits: dict[str, str] = {}
        """The actor of each call that waits for an answer."""
        self._open_calls: Counter[tuple[str, str]] = Counter()
        """How many calls of each actor and tool have no result yet."""
        self._awaited_tools: dict[str, str] = {}
        """The tool that each actor's permission is for."""
        self._streaks: dict[str, int] = {}

    def enter(self, time: str | None = None) -> list[GameEvent]:
        """Return the entrance of the hero, once."""
        if self.has_entered:
            return []
        self.has_entered = True
        hero = self.hero
        title = cut_text(hero.title)
        return [self._build("enter", MAIN_ACTOR, time, project=hero.project, title=title, biome=hero.biome)]

    def translate(self, event: AnyEvent) -> list[GameEvent]:
        """Return the game events of the next live event."""
        events = [] if isinstance(event, SessionStarted) else self._meet_actor(event)
        actor = self._ids.get(event.actor, event.actor)
        if isinstance(event, PromptTyped | TurnFinished | TurnInterrupted | WentIdle):
            events += self._end_wait(actor, event.time)
            self._open_calls.clear()
        if actor == MAIN_ACTOR and isinstance(event, _WORK_EVENTS):
            events += self.end_rest(event.time)
        return events + self._translate_kind(event, actor)

    # -- states, which no entry records

    def start_rest(self, time: str | None) -> list[GameEvent]:
        """Return the start of a compaction, once."""
        if self.is_resting:
            return []
        self.is_resting = True
        return [self._build("compact_start", MAIN_ACTOR, time)]

    def end_rest(self, time: str | None) -> list[GameEvent]:
        """Return the end of a compaction that has started."""
        if not self.is_resting:
            return []
        self.is_resting = False
        return [self._build("compact_end", MAIN_ACTOR, time)]

    def end_all_waits(self, time: str | None) -> list[GameEvent]:
        """Return the end of every wait, because the session does something else."""
        return [event for actor in sorted(self.waiting) for event in self._end_wait(actor, time)]

    def start_wait_by_state(self, kind: str, words: str, time: str | None) -> list[GameEvent]:
        """Return the start of a wait that only the state of the session shows."""
        if kind == "permission":
            return self._start_wait("permission", MAIN_ACTOR, time, tool="", title=cut_text(words))
        return self._start_wait("question", MAIN_ACTOR, time, text=cut_text(words))

    def resume_work(self, reason: str, time: str | None) -> list[GameEvent]:
        """Return that the hero is at work, which only the state of the session shows."""
        return [self._build("answered", MAIN_ACTOR, time, reason=cut_text(reason))]

    def rest_from_work(self, reason: str, time: str | None) -> list[GameEvent]:
        """Return that the hero is not at work any more, which only the state of the session shows."""
        return [self._build("idle", MAIN_ACTOR, time, reason=cut_text(reason))]

    def finish_all_companions(self, time: str | None) -> list[GameEvent]:
        """Return the end of all companions, because the session shows that none is at work."""
        names, self.companions = list(self.companions), {}
        return [self._build("agent_finish", MAIN_ACTOR, time, agent=name, outcome="interrupted") for name in names]

    # -- the parts

    def _build(self, game: GameName, actor: str, time: str | None, **fields: Any) -> GameEvent:
        return GameEvent(game, self.hero.session, actor, time, fields=fields)

    def _end_wait(self, actor: str, time: str | None) -> list[GameEvent]:
        if actor not in self.waiting:
            return []
        self.waiting.remove(actor)
        self._awaited_tools.pop(actor, None)
        return [self._build("answered", actor, time, reason="")]

    def _start_wait(self, game: GameName, actor: str, time: str | None, **fields: str) -> list[GameEvent]:
        self.waiting.add(actor)
        return [self._build(game, actor, time, **fields)]

    def meet_companion(self, actor: str, time: str | None = None) -> list[GameEvent]:
        """Return the entrance of a sub-agent that acts under a name, if it has no companion yet."""
        facts = self._find_companion(actor) or CompanionFacts()
        name = self._ids.get(actor)
        if name is None:
            known = facts.call if facts.call in self.companions else "" if facts.call else self._find_unassigned()
            name = self._ids[actor] = known or facts.call or actor
        return self._add_companion(name, facts.type, facts.description, time)

    def _meet_actor(self, event: AnyEvent) -> list[GameEvent]:
        """Return the entrance of the hero or the companion that an event belongs to, if it is new."""
        events, actor = self.enter(event.time), event.actor
        # A sub-agent that had finished may get a further task.
        if actor == MAIN_ACTOR or (actor in self._ids and not isinstance(event, PromptTyped)):
            return events
        return events + self.meet_companion(actor, event.time)

    def _find_unassigned(self) -> str:
        """Return the first companion that no actor is known for."""
        taken = set(self._ids.values())
        return next((name for name in self.companions if name not in taken), "")

    def _add_companion(self, name: str, kind: str, description: str, time: str | None) -> list[GameEvent]:
        if name in self.companions:
            return []
        kind, description = cut_text(kind, _MAX_LABEL_CHARS), cut_text(description, _MAX_LABEL_CHARS)
        self.companions[name] = Companion(name, kind, description)
        if len(self.companions) > MAX_COMPANIONS:
            del self.companions[next(iter(self.companions))]
        return [self._build("agent_start", MAIN_ACTOR, time, agent=name, agent_type=kind, description=description)]

    def _finish_companion(self, event: AgentFinished) -> list[GameEvent]:
        """Return the end of exactly the companion that has finished."""
        actor = to_actor(event.agent) if event.agent else ""
        name = self._ids.get(actor) or event.call
        events = self._end_wait(name, event.time)
        if self.companions.pop(name, None) is None:
            return events
        return [*events, self._build("agent_finish", MAIN_ACTOR, event.time, agent=name, outcome=event.outcome)]

    def _translate_kind(self, event: AnyEvent, actor: str) -> list[GameEvent]:
        time = event.time
        match event:
            case SessionStarted():
                return self.enter(time)
            case PromptTyped() | TodosChanged() if actor != MAIN_ACTOR:
                return []  # the quest and the tasks on the screen are the hero's
            case PromptTyped():
                return [self._build("quest", actor, time, text=cut_text(event.text), level=event.think)]
            case ToolCalled():
                return self._translate_call(event, actor)
            case CallFinished():
                return self._translate_result(event, actor)
            case TextAnswered():
                return [self._build("text", actor, time, text=cut_text(event.text))]
            case Thought():
                return [self._build("think", actor, time, level=event.level, text=cut_text(event.text))]
            case AgentStarted():
                return self._add_companion(event.call, event.agent_type, event.description, time)
            case AgentFinished():
                return self._finish_companion(event)
            case TodosChanged():
                items = [{"text": cut_text(item.text), "status": item.status} for item in event.items[:_MAX_TODOS]]
                return [self._build("todos", actor, time, items=items)]
            case QuestionAsked():
                self._waits[event.call] = actor
                return self._start_wait("question", actor, time, text=cut_text("\n".join(event.questions)))
            case PlanProposed():
                self._waits[event.call] = actor
                return self._start_wait("plan", actor, time, text=cut_text(event.text))
            case PermissionAwaited():
                self._awaited_tools[actor] = event.tool
                return self._start_wait("permission", actor, time, tool=event.tool, title=cut_text(event.title))
            case _:
                return self._translate_progress(event, actor)

    def _translate_progress(self, event: AnyEvent, actor: str) -> list[GameEvent]:
        time = event.time
        match event:
            case ErrorOccurred():
                return [
                    self._build(
                        "error", actor, time, source=event.source, text=cut_text(event.text), attempt=event.attempt
                    )
                ]
            case TurnFinished() if actor != MAIN_ACTOR:  # the victory is the hero's
                return [self._build("idle", actor, time, reason="its turn is over")]
            case TurnFinished():
                return [self._build("turn_finish", actor, time, seconds=event.seconds)]
            case TurnInterrupted():
                return [self._build("interrupt", actor, time)]
            case ContextCompacted():
                return self.start_rest(time) + self.end_rest(time)
            case ContextFilled():
                share = min(event.tokens / event.window, 1.0) if event.window else None
                share = None if share is None else round(share, 4)
                return [self._build("context", actor, time, used=event.tokens, window=event.window, share=share)]
            case WorkShipped():
                return [self._build("ship", actor, time, kind=event.kind, url=event.url)]
            case WentIdle():
                return [self._build("idle", actor, time, reason=event.reason)]
            case SessionEnded():
                self.companions.clear()
                self.waiting.clear()
                self.has_entered = False
                return [self._build("leave", actor, time, reason=event.reason)]
        return []

    def _translate_call(self, event: ToolCalled, actor: str) -> list[GameEvent]:
        self._open_calls[actor, event.tool] += 1
        game = _GAME_BY_CATEGORY.get(event.category, "tool")
        fields = {"tool": event.tool, "target": cut_text(event.title)}
        if game == "tool":
            fields["category"] = event.category
        return [self._build(game, actor, event.time, **fields)]

    def _translate_result(self, event: CallFinished, actor: str) -> list[GameEvent]:
        events: list[GameEvent] = []
        if (waiting := self._waits.pop(event.call, None)) is not None:
            events += self._end_wait(waiting, event.time)
        if self._open_calls[actor, event.tool] > 1:
            self._open_calls[actor, event.tool] -= 1
        else:  # no call of this tool can be waiting any more
            del self._open_calls[actor, event.tool]
            if self._awaited_tools.get(actor) == event.tool:
                events += self._end_wait(actor, event.time)
        if is_command(event) and event.outcome in ("ok", "failed"):
            self._streaks[actor] = self._streaks.get(actor, 0) + 1 if event.outcome == "ok" else 0
        streak = self._streaks.get(actor, 0) if actor == MAIN_ACTOR else None
        fields = {"category": event.category, "outcome": event.outcome, "streak": streak}
        return [*events, self._build("result", actor, event.time, **fields)]
