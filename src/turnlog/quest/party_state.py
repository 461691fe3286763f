"""What the party looks like after some game events: the snapshot that a page starts with, or comes back to.

The state of a party is a fold of its game events, so live sessions, replays and the demo have the same snapshots.
"""

from __future__ import annotations

from typing import Any

from turnlog.live.events.event import MAIN_ACTOR
from turnlog.quest.game_event import GameEvent

_WAITS = ("question", "plan", "permission")
_WORK = ("quest", "read", "write", "bash", "web", "tool", "think", "text")
_RESTS = ("turn_finish", "interrupt", "idle")
MAX_SNAPSHOT_COMPANIONS = 60
"""The latest ones."""


class HeroState:
    """One hero with its companions."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.project, self.title, self.biome = "", "", 0
        self.mode = "idle"
        self.quest: str | None = None
        self.todos: list[dict[str, str]] = []
        self.context: dict[str, Any] | None = None
        self.waiting: dict[str, dict[str, str]] = {}
        """What each actor waits for."""
        self.agents: dict[str, dict[str, str]] = {}

    def to_document(self) -> dict[str, Any]:
        """Return the hero as a snapshot has it."""
        agents = list(self.agents.items())[-MAX_SNAPSHOT_COMPANIONS:]
        return {
            "session": self.session,
            "project": self.project,
            "title": self.title,
            "biome": self.biome,
            "mode": self.mode,
            "agents": [{"agent": name, **agent, "waiting": self.waiting.get(name)} for name, agent in agents],
            "todos": self.todos,
            "context": self.context,
            "waiting": self.waiting.get(MAIN_ACTOR),
            "quest": self.quest,
        }


class PartyState:
    """All heroes."""

    def __init__(self) -> None:
        self.heroes: dict[str, HeroState] = {}

    def apply_event(self, event: GameEvent) -> None:
        """Apply the next game event."""
        if event.game == "leave":
            self.heroes.pop(event.session, None)
            return
        hero = self.heroes.get(event.session)
        if hero is None:
            hero = self.heroes[event.session] = HeroState(event.session)
        _apply_to_hero(hero, event)

    def to_documents(self) -> list[dict[str, Any]]:
        """Return the heroes as a snapshot has them."""
        return [hero.to_document() for hero in self.heroes.values()]


def _apply_to_hero(hero: HeroState, event: GameEvent) -> None:
    game, fields = event.game, event.fields
    if game == "enter":
        hero.project, hero.title, hero.biome = fields["project"], fields["title"], fields["biome"]
    elif game == "agent_start":
        hero.agents[fields["agent"]] = {"agent_type": fields["agent_type"], "description": fields["description"]}
    elif game == "agent_finish":
        hero.agents.pop(fields["agent"], None)
        hero.waiting.pop(fields["agent"], None)
    elif game in _WAITS:
        text = fields["title"] or fields["tool"] if game == "permission" else fields["text"]
        hero.waiting[event.actor] = {"kind": game, "text": text}
    elif game == "answered":
        hero.waiting.pop(event.actor, None)
        if event.actor == MAIN_ACTOR:
            hero.mode = "active"
    elif event.actor == MAIN_ACTOR:
        _apply_to_main(hero, event)


def _apply_to_main(hero: HeroState, event: GameEvent) -> None:
    game, fields = event.game, event.fields
    if game in _WORK:
        hero.mode = "active"
    elif game in _RESTS:
        hero.mode = "idle"
    if game == "quest":
        hero.quest = fields["text"]
    elif game == "todos":
        hero.todos = fields["items"]
    elif game == "context":
        hero.context = {name: fields[name] for name in ("used", "window", "share")}
    elif game == "compact_start":
        hero.mode = "resting"
    elif game == "compact_end":
        hero.mode = "idle"
