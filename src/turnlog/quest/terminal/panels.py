"""The lines below the picture: who is there, the mana of each, the quest, tasks, the wardrobe, and chests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnlog.quest.chests import ChestCeremony
from turnlog.quest.cosmetics import COSMETIC_BY_ID, COSMETICS, SLOTS
from turnlog.quest.story_lines import shorten_line
from turnlog.quest.world.figures import FULL_MANA, HeroFigure, WorldState
from turnlog.quest.world.world import find_focus

MANA_CELLS, LEVEL_CELLS = 12, 16
_MAX_HERO_LINES = 8
_TODO_SIGNS = {"completed": "✓", "in_progress": "►", "pending": "○"}
_MAX_TODOS = 4
ACTIONS = {
    "idle": "stands still", "enter": "arrives", "walk": "walks", "casting": "reads", "attack": "strikes",
    "writing": "writes", "thinking": "thinks", "hurt": "is hurt", "victory": "has won", "pose": "has shipped",
    "rest": "rests (compaction)", "waiting": "waits", "poof": "leaves",
}  # fmt: skip


def list_panel_lines(state: WorldState) -> Iterator[str]:
    """Yield the lines about the party and the profile."""
    if not state.party:
        yield "No session is active. A hero appears as soon as one is."
    focus = find_focus(state)
    for hero in state.party[:_MAX_HERO_LINES]:
        yield describe_hero_line(hero, is_focus=hero is focus)
    if focus is not None:
        if focus.quest:
            yield f"  Quest: {shorten_line(focus.quest['text'])}"
        if focus.bubble:
            yield f"  Thinks: {shorten_line(focus.bubble['text'])}"
        yield from list_todo_lines(focus)
    if state.profile:
        yield describe_profile(state)


def describe_hero_line(hero: HeroFigure, *, is_focus: bool) -> str:
    """Describe a hero: its name, mana, and what it and its companions do."""
    folder = hero.project.rstrip("/\\").replace("\\", "/").rpartition("/")[2]
    name = shorten_line(hero.title or folder or hero.session[:8], 30)
    what = ACTIONS[hero.anim]
    if hero.waiting:
        what = f"WAITS FOR YOU: {shorten_line(hero.waiting.get('text') or hero.waiting.get('kind', ''), 60)}"
    working = [one.type or "companion" for one in hero.companions if not one.leaving]
    crew = f" · with {', '.join(working[:4])}{' …' if len(working) > 4 else ''}" if working else ""
    return f"{'▸' if is_focus else ' '} {name:<30} {describe_mana(hero)}  {what}{crew}"


def describe_mana(hero: HeroFigure) -> str:
    """Describe how much of the context window is left; words say it too, so that no colour is needed."""
    if hero.goal is None:
        return f"{'mana unknown':<{MANA_CELLS + 5}}"
    filled = -(-hero.mana * MANA_CELLS // FULL_MANA)
    return f"{'█' * filled}{'░' * (MANA_CELLS - filled)} {hero.mana * 100 // FULL_MANA:>3} %"


def list_todo_lines(hero: HeroFigure) -> Iterator[str]:
    """Yield the tasks that matter now: the latest that is done, and what follows."""
    todos = hero.todos
    if not todos:
        return
    done = sum(item["status"] == "completed" for item in todos)
    begin = max(0, min(done - 1, len(todos) - _MAX_TODOS))
    for item in todos[begin : begin + _MAX_TODOS]:
        yield f"  {_TODO_SIGNS[item['status']]} {shorten_line(item['text'], 70)}"
    if len(todos) > _MAX_TODOS:
        yield f"  {done} of {len(todos)} tasks are done"


def describe_profile(state: WorldState) -> str:
    """Describe the level, the flow meter, and the chests that wait."""
    profile = state.profile or {}
    span = max(profile["next"] - profile["level_xp"], 1)
    filled = max(0, min(LEVEL_CELLS * (profile["xp"] - profile["level_xp"]) // span, LEVEL_CELLS))
    bar = "▰" * filled + "▱" * (LEVEL_CELLS - filled)
    chests = sum(not chest["skipped"] for chest in profile["chests"])
    waits = f" · {chests} chest{'s' if chests > 1 else ''}: press c" if chests else ""
    flow = f"flow {state.flow // 10} %"
    return f"Level {profile['level']} {bar} {profile['xp']:,} of {profile['next']:,} xp · {flow}{waits}"


def list_wardrobe_lines(profile: dict[str, Any], slot: int, item: int) -> Iterator[str]:
    """Yield the wardrobe: the slots, and the items of one; `item` counts from 0, which is to wear none."""
    yield "Wardrobe   ← → slot   ↑ ↓ item   Tab closes"
    yield "  ".join(f"[{name}]" if number == slot else f" {name} " for number, name in enumerate(SLOTS))
    for number, known in enumerate(list_wardrobe(slot)):
        sign = "▸" if number == item else " "
        if known is None:
            yield f"{sign} none"
            continue
        cosmetic = COSMETIC_BY_ID[known]
        lock = "" if known in profile["unlocked"] else f"  (locked; chests offer it from level {cosmetic.level})"
        worn = "  (worn)" if profile["worn"].get(SLOTS[slot]) == known else ""
        yield f"{sign} {cosmetic.name}{worn}{lock}"


def list_wardrobe(slot: int) -> list[str | None]:
    """Return what can be chosen in a slot: nothing, or one of its items."""
    return [None, *(item.id for item in COSMETICS if item.slot == SLOTS[slot])]


def list_chest_lines(chest: ChestCeremony) -> Iterator[str]:
    """Yield the ceremony of a chest."""
    words = {
        "closed": "A chest!", "wobble": "It wobbles …", "opening": "It opens …", "revealing": "Something shines …",
        "choosing": "Choose an item:   ← →   Enter takes it   Esc puts it off", "claiming": "It is yours:",
        "done": "The chest is empty.",
    }  # fmt: skip
    yield words[chest.state]
    if chest.state == "choosing":
        for number, item in enumerate(chest.offers):
            cosmetic = COSMETIC_BY_ID[item]
            yield f"{'▸' if number == chest.selected else ' '} {cosmetic.name} ({cosmetic.slot})"
    elif chest.claimed:
        yield f"★ {COSMETIC_BY_ID[chest.claimed].name}"
