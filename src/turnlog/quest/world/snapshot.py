"""The snapshot that a feed begins with: the whole truth about who is there. A port of `snapshot.js`."""

from __future__ import annotations

from typing import Any

from turnlog.quest.world.actors import begin_rest, cut_rest, leave_world, settle_actor
from turnlog.quest.world.enemies import apply_context
from turnlog.quest.world.figures import (
    HeroFigure,
    WorldEvent,
    WorldState,
    create_companion,
    create_hero,
    describe_hero,
    find_companion,
    leave_together,
)


def apply_snapshot(state: WorldState, event: WorldEvent) -> None:
    """Take the sessions as the whole truth; heroes and companions that are known keep what they are playing."""
    listed = {one["session"] for one in event["sessions"]}
    for absent in (one for one in state.party if one.session not in listed):
        leave_together(absent)
    for one in event["sessions"]:
        known = (other for other in state.party if other.session == one["session"] and not other.leaving)
        hero = next(known, None) or _add_hero(state, one)
        describe_hero(hero, one)
        _update_companions(hero, one.get("agents") or [])
        _apply_mode(hero, one)
        hero.todos = one.get("todos") or []
        if one.get("context"):
            apply_context(state, hero, one["context"])


def _add_hero(state: WorldState, one: dict[str, Any]) -> HeroFigure:
    hero = create_hero(one, "idle")
    state.party.append(hero)
    return hero


def _update_companions(hero: HeroFigure, agents: list[dict[str, Any]]) -> None:
    listed = {one["agent"] for one in agents}
    for companion in hero.companions:
        if companion.agent not in listed:
            leave_world(companion)
    for one in agents:
        known = find_companion(hero, one["agent"])
        if known is None:
            known = create_companion(one, "idle")
            hero.companions.append(known)
        known.waiting = one.get("waiting")


def _apply_mode(hero: HeroFigure, one: dict[str, Any]) -> None:
    is_resting = one.get("mode") == "resting"
    is_active = one.get("mode") == "active" or is_resting
    is_waiting = bool(one.get("waiting"))
    if hero.resting == is_resting and hero.active == is_active and bool(hero.waiting) == is_waiting:
        return
    if is_resting:
        begin_rest(hero)
    else:
        cut_rest(hero)
    hero.active, hero.silence, hero.waiting = is_active, 0, one.get("waiting")
    settle_actor(hero)
