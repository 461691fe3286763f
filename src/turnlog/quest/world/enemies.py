"""Enemies: a failure flies at the actor that caused it, and hurts only when it arrives. A port of `enemies.js`."""

from __future__ import annotations

from turnlog.quest.world.actors import start_animation
from turnlog.quest.world.figures import (
    FULL_MANA,
    HeroFigure,
    Item,
    WorldEvent,
    WorldState,
    add_burst,
    add_last,
    draw_number,
    find_actor,
    to_thousandths,
)

_MAX_ENEMIES = 5
_LOW_SHARE, _STRIKING_SHARE = 0.8, 0.95
_ENEMY_SHAPES = 4


def add_enemy(state: WorldState, hero: HeroFigure, kind: str, text: str, actor: str) -> None:
    """Let an enemy set out for an actor."""
    shape = draw_number(state, _ENEMY_SHAPES)
    enemy = {"kind": kind, "text": text, "actor": actor, "phase": "fly", "struck": False, "shape": shape, "age": 0}
    add_last(hero.enemies, enemy, _MAX_ENEMIES)


def apply_context(state: WorldState, hero: HeroFigure, event: WorldEvent) -> None:
    """Note how full the context window is: mana, and the enemy that comes when it runs low."""
    hero.context = {"used": event.get("used"), "window": event.get("window")}
    share = event.get("share")
    hero.goal = None if share is None else max(0, min(FULL_MANA, FULL_MANA - to_thousandths(share)))
    _meet_low_context(state, hero, share or 0)


def _meet_low_context(state: WorldState, hero: HeroFigure, share: float) -> None:
    enemy = next((one for one in hero.enemies if one["kind"] == "low" and one["phase"] != "flee"), None)
    if share <= _LOW_SHARE:
        if enemy is not None:
            enemy.update(phase="flee", age=0)
    elif enemy is None:
        add_enemy(state, hero, "low", "LOW CTX", "main")
    elif share >= _STRIKING_SHARE and not enemy["struck"] and enemy["phase"] == "hover":
        enemy["struck"] = True
        hit_target(state, hero, enemy)


def hit_target(state: WorldState, hero: HeroFigure, enemy: Item) -> None:
    """Let an enemy reach its target, which only now is hurt."""
    actor = find_actor(hero, enemy)
    if actor is not None:
        start_animation(actor, "hurt")
        add_burst(state, "hit", hero.session, enemy["actor"])
