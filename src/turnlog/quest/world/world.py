"""The world: `step_world(state, event, seconds)` returns the next state. A port of `world.js`.

All numbers are whole, time is in ticks of 10 ms, and chance comes from the state, so the same events always lead to the
same world.
"""

from __future__ import annotations

from math import floor
from typing import Any

from msgspec.structs import replace

from turnlog.quest.world.actors import IDLE_TICKS, TICKS_PER_SECOND, tick_actor
from turnlog.quest.world.enemies import hit_target
from turnlog.quest.world.figures import HeroFigure, Item, WorldEvent, WorldState
from turnlog.quest.world.happenings import apply_world_event

_MS_PER_TICK = 1000 // TICKS_PER_SECOND
MAX_STEP_TICKS = IDLE_TICKS + 10 * TICKS_PER_SECOND
"""Of a longer pause (a suspended machine), only the end is played."""
LIFE_TICKS = {
    "quest": 950,
    "questFadeIn": 50,
    "questFadeOut": 100,
    "bubble": 1200,
    "thrown": 130,
    "gain": 110,
    "banner": 450,
    "levelUp": 300,
    "firework": 120,
    "burst": 80,
    "flight": 90,
    "impact": 40,
}
SCROLL_SPAN = 6_400_000
_MAX_PACE, _MAX_STORM, _BIOMES, _BIOME_FADE = 4, 200, 5, 100
_CYCLE_TICKS = 20 * TICKS_PER_SECOND


def create_world(options: dict[str, Any] | None = None) -> WorldState:
    """Create a world without heroes.

    Options: `biome` ("project", "time", "cycle" or 0 to 4), `follow` (a session), `seed` and `minute` (of the day).
    """
    options = options or {}
    biome = options.get("biome", "project")
    return WorldState(
        options.get("seed", 1),
        options.get("minute", 720),
        {"biome": biome, "follow": options.get("follow")},
        biome if isinstance(biome, int) else None,
    )


def step_world(state: WorldState, event: WorldEvent | None, seconds: float) -> WorldState:
    """Let time pass, then let an event happen; the old state stays as it was."""
    state = copy_world(state)
    _advance(state, floor(seconds * 1000 + 0.5))
    if event is not None:
        apply_world_event(state, event)
    return state


def find_focus(state: WorldState) -> HeroFigure | None:
    """Return the hero whose quest, mana and tasks are shown: the followed one, else the first of the party."""
    follow = state.choice["follow"]
    return next((hero for hero in state.party if hero.session == follow), state.party[0] if state.party else None)


def list_waits(state: WorldState) -> list[dict[str, Any]]:
    """Return all who wait for a person: heroes and companions."""
    waits: list[dict[str, Any]] = []
    for hero in state.party:
        if hero.waiting:
            waits.append({"session": hero.session, "actor": "main", "title": hero.title, **hero.waiting})
        waits += (
            {"session": hero.session, "actor": one.agent, "title": one.type, **one.waiting}
            for one in hero.companions
            if one.waiting
        )
    return waits


def choose_shown_biome(state: WorldState) -> int | None:
    """Return the landscape that the choice leads to."""
    biome = state.choice["biome"]
    if isinstance(biome, int):
        return biome
    if biome == "cycle":
        return state.clock // _CYCLE_TICKS % _BIOMES
    if biome == "time":
        return _find_biome_of_minute(state.minute)
    focus = find_focus(state)
    return state.biome if focus is None else focus.biome


def _find_biome_of_minute(minute: int) -> int:
    hour = minute // 60
    if hour < 6 or hour >= 22:
        return 2
    if hour < 11:
        return 0
    if hour < 15:
        return 1
    return 3 if hour < 19 else 4


# -- time


def _advance(state: WorldState, milliseconds: int) -> None:
    state.rest += milliseconds
    ticks, state.rest = divmod(state.rest, _MS_PER_TICK)
    if ticks > MAX_STEP_TICKS:
        state.clock += ticks - MAX_STEP_TICKS
        ticks = MAX_STEP_TICKS
    for _ in range(ticks):
        _tick(state)


def _tick(state: WorldState) -> None:
    state.clock += 1
    for hero in state.party:
        _tick_hero(state, hero)
    state.party = [hero for hero in state.party if not hero.gone]
    _tick_scenery(state)
    state.fireworks = _grow_items(state.fireworks, "firework")
    state.bursts = _grow_items(state.bursts, "burst")
    state.banner = _grow_item(state.banner, "banner")
    state.celebration = _grow_item(state.celebration, "levelUp")
    state.flow = _approach(state.flow, state.flow_goal)


def _tick_scenery(state: WorldState) -> None:
    if state.clock % 10 == 0:
        walks = any(hero.anim == "walk" for hero in state.party)
        state.pace = max(0, min(_MAX_PACE, state.pace + (1 if walks else -1)))
    state.scroll = (state.scroll + state.pace) % SCROLL_SPAN
    storms = any(hero.storm for hero in state.party)
    state.storm = max(0, min(_MAX_STORM, state.storm + (2 if storms else -1)))
    biome = choose_shown_biome(state)
    if state.biome is None:
        state.biome = biome
    elif biome != state.biome:
        state.former, state.biome, state.fade = state.biome, biome, _BIOME_FADE
    elif state.fade > 0:
        state.fade -= 1
        if state.fade == 0:
            state.former = None


def _tick_hero(state: WorldState, hero: HeroFigure) -> None:
    hero.gone = not tick_actor(hero)
    for one in hero.companions:
        one.gone = not tick_actor(one)
    hero.companions = [one for one in hero.companions if not one.gone]
    hero.quest = _grow_item(hero.quest, "quest")
    hero.bubble = _grow_item(hero.bubble, "bubble")
    hero.thrown = _grow_items(hero.thrown, "thrown")
    hero.gains = _grow_items(hero.gains, "gain")
    for enemy in hero.enemies:
        _tick_enemy(state, hero, enemy)
    hero.enemies = [enemy for enemy in hero.enemies if enemy["phase"] != "over"]
    if hero.goal is not None:
        hero.mana = _approach(hero.mana, hero.goal)


def _tick_enemy(state: WorldState, hero: HeroFigure, enemy: Item) -> None:
    enemy["age"] += 1
    if enemy["phase"] == "fly" and enemy["age"] >= LIFE_TICKS["flight"]:
        enemy["age"] = 0
        enemy["phase"] = "hover" if enemy["kind"] == "low" else "hit"
        if enemy["phase"] == "hit":
            hit_target(state, hero, enemy)
    elif enemy["phase"] in ("hit", "flee") and enemy["age"] >= LIFE_TICKS["impact"]:
        enemy["phase"] = "over"


def _grow_item(item: Item | None, kind: str) -> Item | None:
    if item is None:
        return None
    item["age"] += 1
    return item if item["age"] < LIFE_TICKS[kind] else None


def _grow_items(items: list[Item], kind: str) -> list[Item]:
    return [item for item in items if _grow_item(item, kind) is not None]


def _approach(value: int, goal: int) -> int:
    """Move a meter towards its goal: fast when it's far, and always by at least one."""
    gap = abs(goal - value)
    if gap == 0:
        return value
    move = max(1, gap // 24)
    return value + move if goal > value else value - move


# -- copies


def copy_world(state: WorldState) -> WorldState:
    """Copy what ticks and events change; texts, tasks and the profile are replaced as a whole and can be shared."""
    return replace(
        state,
        choice=dict(state.choice),
        party=[_copy_hero(hero) for hero in state.party],
        fireworks=_copy_items(state.fireworks),
        bursts=_copy_items(state.bursts),
        banner=_copy_item(state.banner),
        celebration=_copy_item(state.celebration),
    )


def _copy_hero(hero: HeroFigure) -> HeroFigure:
    return replace(
        hero,
        queue=list(hero.queue),
        companions=[replace(one, queue=list(one.queue)) for one in hero.companions],
        quest=_copy_item(hero.quest),
        bubble=_copy_item(hero.bubble),
        thrown=_copy_items(hero.thrown),
        gains=_copy_items(hero.gains),
        enemies=_copy_items(hero.enemies),
    )


def _copy_item(item: Item | None) -> Item | None:
    return None if item is None else dict(item)


def _copy_items(items: list[Item]) -> list[Item]:
    return [dict(item) for item in items]
