"""What each game event does to the world: a port of `happenings.js`; docs/quest.md has the same as a table."""

from __future__ import annotations

from collections.abc import Callable

from turnlog.quest.world.actors import (
    WorldActor,
    begin_rest,
    cut_rest,
    end_rest,
    end_wait,
    enqueue_animation,
    leave_world,
    settle_actor,
    wake_actor,
)
from turnlog.quest.world.enemies import add_enemy, apply_context
from turnlog.quest.world.figures import (
    HeroFigure,
    WorldEvent,
    WorldState,
    add_burst,
    add_last,
    create_companion,
    describe_hero,
    draw_number,
    find_actor,
    find_companion,
    find_hero,
    leave_together,
    to_thousandths,
)
from turnlog.quest.world.snapshot import apply_snapshot

ROCKETS = {"none": 0, "normal": 0, "think": 2, "hard": 4, "harder": 7, "ultra": 12}
"""How many rockets a prompt's level of thinking is worth."""
_TOOL_ANIMATIONS = {"read": "casting", "write": "writing", "bash": "attack", "web": "casting", "tool": "casting"}
_MAX_THROWN, _MAX_GAINS, _MAX_FIREWORKS = 6, 6, 24
_ROCKET_GAP_TICKS = 18
_COLOURS, _LANES = 6, 4

Happening = Callable[[WorldState, HeroFigure, WorldEvent], None]


def apply_world_event(state: WorldState, event: WorldEvent) -> None:
    """Let an event happen."""
    game = event["game"]
    if game in ("snapshot", "profile", "clock", "choose"):
        _apply_to_world(state, event)
        return
    happening = _HAPPENINGS.get(game)
    hero = find_hero(state, event) if happening else None
    if happening is None or hero is None:
        return
    hero.silence = 0
    happening(state, hero, event)
    for gain in event.get("xp") or ():
        add_last(hero.gains, {"amount": gain["amount"], "reason": gain["reason"], "age": 0}, _MAX_GAINS)


def _apply_to_world(state: WorldState, event: WorldEvent) -> None:
    if event["game"] == "snapshot":
        apply_snapshot(state, event)
    if event.get("profile"):
        state.profile = event["profile"]
        state.flow_goal = to_thousandths(event["profile"].get("flow") or 0)
    if event["game"] == "clock":
        state.minute = event["minute"]
    elif event["game"] == "choose":
        state.choice.update({name: event[name] for name in ("biome", "follow") if name in event})


# -- events of a session


def _enter(_: WorldState, hero: HeroFigure, event: WorldEvent) -> None:
    describe_hero(hero, event)


def _leave(state: WorldState, hero: HeroFigure, _: WorldEvent) -> None:
    leave_together(hero)
    add_burst(state, "poof", hero.session, "main")


def _begin_quest(state: WorldState, hero: HeroFigure, event: WorldEvent) -> None:
    wake_actor(hero)
    hero.quest = {"text": event["text"], "level": event.get("level") or "none", "age": 0}
    for number in range(ROCKETS.get(event.get("level") or "", 0)):
        x, y = 24 + draw_number(state, 272), 18 + draw_number(state, 56)
        colour, shape = draw_number(state, _COLOURS), draw_number(state, _LANES)
        rocket = {"x": x, "y": y, "colour": colour, "shape": shape, "age": -number * _ROCKET_GAP_TICKS}
        add_last(state.fireworks, rocket, _MAX_FIREWORKS)


def _use_tool(state: WorldState, hero: HeroFigure, event: WorldEvent) -> None:
    game = event["game"]
    if _act_out(hero, event, _TOOL_ANIMATIONS[game]) is None:
        return
    colour = game
    if game == "tool":
        colour = "agent" if event.get("category") == "agent" else "other"
    text, actor, lane = event.get("tool") or "", event.get("actor") or "main", draw_number(state, _LANES)
    add_last(hero.thrown, {"text": text, "colour": colour, "actor": actor, "lane": lane, "age": 0}, _MAX_THROWN)


def _finish_call(_: WorldState, hero: HeroFigure, event: WorldEvent) -> None:
    if event.get("outcome") == "ok":
        hero.storm = False
    if event.get("streak") is not None:
        hero.streak = event["streak"]


def _think(_: WorldState, hero: HeroFigure, event: WorldEvent) -> None:
    actor = _act_out(hero, event, "thinking")
    if actor is hero and event.get("text"):
        hero.bubble = {"text": event["text"], "age": 0}


def _write_text(_: WorldState, hero: HeroFigure, event: WorldEvent) -> None:
    _act_out(hero, event, None)


def _start_agent(state: WorldState, hero: HeroFigure, event: WorldEvent) -> None:
    if find_companion(hero, event["agent"]) is None:
        hero.companions.append(create_companion(event, "enter"))
        add_burst(state, "spawn", hero.session, event["agent"])


def _finish_agent(state: WorldState, hero: HeroFigure, event: WorldEvent) -> None:
    companion = find_companion(hero, event["agent"])
    if companion is not None:
        leave_world(companion)
        add_burst(state, "poof", hero.session, event["agent"])


def _list_todos(_: WorldState, hero: HeroFigure, event: WorldEvent) -> None:
    hero.todos = event["items"]


def _begin_wait(_: WorldState, hero: HeroFigure, event: WorldEvent) -> None:
    actor = find_actor(hero, event)
    if actor is None or actor.leaving:
        return
    actor.silence = 0
    actor.active = True
    cut_rest(actor)
    texts = (event.get(name) for name in ("text", "title", "tool"))
    actor.waiting = {"kind": event["game"], "text": next((text for text in texts if text is not None), "")}
    settle_actor(actor)


def _end_wait(_: WorldState, hero: HeroFigure, event: WorldEvent) -> None:
    actor = find_actor(hero, event)
    if actor is not None:
        end_wait(actor)
        actor.silence = 0
        actor.active = True


def _meet_error(state: WorldState, hero: HeroFigure, event: WorldEvent) -> None:
    is_api = event.get("source") == "api"
    hero.storm = hero.storm or is_api
    add_enemy(state, hero, "error" if is_api else "bug", event.get("text") or "", event.get("actor") or "main")


def _finish_turn(_: WorldState, hero: HeroFigure, __: WorldEvent) -> None:
    hero.storm = False
    end_wait(hero)
    end_rest(hero)
    hero.active = False
    enqueue_animation(hero, "victory")


def _interrupt(_: WorldState, hero: HeroFigure, event: WorldEvent) -> None:
    actor = find_actor(hero, event)
    if actor is not None:
        actor.active, actor.waiting = False, None
        cut_rest(actor)
        settle_actor(actor)


def _start_compaction(_: WorldState, hero: HeroFigure, event: WorldEvent) -> None:
    actor = find_actor(hero, event)
    if actor is not None:
        begin_rest(actor)


def _end_compaction(state: WorldState, hero: HeroFigure, event: WorldEvent) -> None:
    actor = find_actor(hero, event)
    if actor is not None and actor.resting:
        end_rest(actor)
        if actor is hero:
            add_burst(state, "heal", hero.session, "main")


def _fill_context(state: WorldState, hero: HeroFigure, event: WorldEvent) -> None:
    if (event.get("actor") or "main") == "main":
        apply_context(state, hero, event)


def _ship(state: WorldState, hero: HeroFigure, event: WorldEvent) -> None:
    enqueue_animation(hero, "pose")
    state.banner = {"kind": event.get("kind"), "session": hero.session, "age": 0}


def _go_idle(_: WorldState, hero: HeroFigure, event: WorldEvent) -> None:
    actor = find_actor(hero, event)
    if actor is not None:
        actor.active = False
        end_rest(actor)
        end_wait(actor)


def _celebrate_level(state: WorldState, hero: HeroFigure, event: WorldEvent) -> None:
    enqueue_animation(hero, "victory")
    state.celebration = {"level": event["level"], "session": hero.session, "age": 0}
    add_burst(state, "level", hero.session, "main")


def _find_chest(state: WorldState, hero: HeroFigure, _: WorldEvent) -> None:
    enqueue_animation(hero, "victory")
    add_burst(state, "chest", hero.session, "main")


def _move_flow(state: WorldState, _: HeroFigure, event: WorldEvent) -> None:
    state.flow_goal = to_thousandths(event["meter"])


def _act_out(hero: HeroFigure, event: WorldEvent, anim: str | None) -> WorldActor | None:
    """Let the actor of an event do something: the model has answered, so the storm is over and the actor is awake."""
    actor = find_actor(hero, event)
    if actor is None:
        return None
    hero.storm = False
    wake_actor(actor)
    if anim is not None:
        enqueue_animation(actor, anim)
    return actor


_HAPPENINGS: dict[str, Happening] = {
    "enter": _enter,
    "leave": _leave,
    "quest": _begin_quest,
    "read": _use_tool,
    "write": _use_tool,
    "bash": _use_tool,
    "web": _use_tool,
    "tool": _use_tool,
    "result": _finish_call,
    "think": _think,
    "text": _write_text,
    "agent_start": _start_agent,
    "agent_finish": _finish_agent,
    "todos": _list_todos,
    "question": _begin_wait,
    "plan": _begin_wait,
    "permission": _begin_wait,
    "answered": _end_wait,
    "error": _meet_error,
    "turn_finish": _finish_turn,
    "interrupt": _interrupt,
    "compact_start": _start_compaction,
    "compact_end": _end_compaction,
    "context": _fill_context,
    "ship": _ship,
    "idle": _go_idle,
    "level_up": _celebrate_level,
    "chest": _find_chest,
    "flow": _move_flow,
}
WORLD_GAMES = tuple(_HAPPENINGS)
"""The game events that change the world."""
