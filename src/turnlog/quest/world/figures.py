"""Who is in the world, and the short lists and the chance that all rules share: `heroes.js`."""

from __future__ import annotations

from math import floor
from typing import Any, TypeVar

from msgspec import Struct, field

from turnlog.quest.world.actors import WorldActor, leave_world

Item = dict[str, Any]
"""Something short-lived on the screen; its `age` is in ticks."""
WorldEvent = dict[str, Any]
"""A game event, or an event of the world itself, as its JSON has it."""
FULL_MANA = 1000
_MAX_BURSTS = 24
_QUIET_GAMES = frozenset(
    "leave idle answered context flow chest todos agent_finish result interrupt turn_finish".split()
)
"""Events that say nothing about a session that is not in the party (any more)."""


class CompanionFigure(WorldActor, kw_only=True):
    """A sub-agent in the world."""

    agent: str
    type: str = ""
    description: str = ""
    gone: bool = False


class HeroFigure(WorldActor, kw_only=True):
    """A session in the world."""

    session: str
    project: str = ""
    title: str = ""
    biome: int = 0
    gone: bool = False
    companions: list[CompanionFigure] = field(default_factory=list)
    quest: Item | None = None
    bubble: Item | None = None
    thrown: list[Item] = field(default_factory=list)
    gains: list[Item] = field(default_factory=list)
    enemies: list[Item] = field(default_factory=list)
    todos: list[dict[str, str]] = field(default_factory=list)
    context: dict[str, Any] | None = None
    mana: int = FULL_MANA
    goal: int | None = None
    storm: bool = False
    streak: int = 0


class WorldState(Struct):
    """The world; its JSON is the state of `world.js`."""

    seed: int = 1
    minute: int = 720
    choice: dict[str, Any] = field(default_factory=lambda: {"biome": "project", "follow": None})
    biome: int | None = None
    clock: int = 0
    rest: int = 0
    former: int | None = None
    fade: int = 0
    scroll: int = 0
    pace: int = 0
    storm: int = 0
    party: list[HeroFigure] = field(default_factory=list)
    fireworks: list[Item] = field(default_factory=list)
    bursts: list[Item] = field(default_factory=list)
    banner: Item | None = None
    celebration: Item | None = None
    flow: int = 0
    flow_goal: int = 0
    profile: dict[str, Any] | None = None


T = TypeVar("T")


def find_hero(state: WorldState, event: WorldEvent) -> HeroFigure | None:
    """Return the hero of an event, who joins the party if the event says that it is there."""
    known = [one for one in state.party if one.session == event["session"]]
    hero = next((one for one in known if not one.leaving), None)
    if hero is not None or event["game"] in _QUIET_GAMES or (known and event["game"] != "enter"):
        return hero
    added = create_hero(event, "enter")
    state.party.append(added)
    add_burst(state, "spawn", event["session"], "main")
    return added


def find_actor(hero: HeroFigure, event: WorldEvent) -> WorldActor | None:
    actor = event.get("actor") or "main"
    return hero if actor == "main" else find_companion(hero, actor)


def find_companion(hero: HeroFigure, agent: str) -> CompanionFigure | None:
    return next((one for one in hero.companions if one.agent == agent and not one.leaving), None)


def create_hero(event: WorldEvent, anim: str) -> HeroFigure:
    hero = HeroFigure(anim, session=event["session"])
    describe_hero(hero, event)
    return hero


def create_companion(event: WorldEvent, anim: str) -> CompanionFigure:
    kind, description = event.get("agent_type") or "", event.get("description") or ""
    return CompanionFigure(anim, active=True, agent=event["agent"], type=kind, description=description)


def describe_hero(hero: HeroFigure, event: WorldEvent) -> None:
    """Take over what an event says about a hero."""
    hero.project = _choose_known(event.get("project"), hero.project)
    hero.title = _choose_known(event.get("title"), hero.title)
    hero.biome = _choose_known(event.get("biome"), hero.biome)


def _choose_known(value: T | None, default: T) -> T:
    return default if value is None else value


def leave_together(hero: HeroFigure) -> None:
    """Let a hero and its companions leave."""
    leave_world(hero)
    for one in hero.companions:
        leave_world(one)


# -- lists, and chance


def add_last(items: list[Item], item: Item, limit: int) -> None:
    """Append an item; of a long list, the oldest is dropped."""
    items.append(item)
    if len(items) > limit:
        del items[0]


def add_burst(state: WorldState, kind: str, session: str, actor: str) -> None:
    """Add a burst of particles at an actor."""
    burst = {"kind": kind, "session": session, "actor": actor, "seed": draw_number(state, 65536), "age": 0}
    add_last(state.bursts, burst, _MAX_BURSTS)


def draw_number(state: WorldState, count: int) -> int:
    """Return a whole number from 0 to `count` - 1, from a linear congruential generator of 32 bits."""
    state.seed = (state.seed * 1664525 + 1013904223) & 0xFFFF_FFFF
    return (state.seed >> 8) % count


def to_thousandths(share: float) -> int:
    """Round a share to thousandths, halves upwards as JavaScript does."""
    return floor(share * 1000 + 0.5)
