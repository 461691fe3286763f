"""Chests: what is in them, and the ceremony in which they open.

A chest of a level offers up to three items to choose from, a bonus chest contains one. Offers are drawn when a chest is
opened, from the items of the hero's level that it does not own, and depend only on the chest and on those items.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, NamedTuple

from msgspec import Struct

from turnlog.quest.cosmetics import COSMETICS, Cosmetic
from turnlog.quest.experience import hash_parts

ChestKind = Literal["level", "bonus"]
ChestState = Literal["closed", "wobble", "opening", "revealing", "choosing", "claiming", "done"]
LEVEL_OFFERS, BONUS_OFFERS = 3, 1
LEVEL_CHEST_PREFIX, BONUS_CHEST_PREFIX = "level-", "bonus-"
STATE_SECONDS: dict[ChestState, float] = {
    "closed": 0.5,
    "wobble": 0.8,
    "opening": 0.5,
    "revealing": 0.6,
    "claiming": 1.0,
}
"""How long each state of the ceremony lasts; choosing lasts until somebody chooses."""
_NEXT_STATES: dict[ChestState, ChestState] = {
    "closed": "wobble",
    "wobble": "opening",
    "opening": "revealing",
    "claiming": "done",
}


class ChestCeremony(NamedTuple):
    """A chest that is being opened on the screen."""

    offers: tuple[str, ...] = ()
    state: ChestState = "closed"
    seconds: float = 0.0
    """How long it has been in this state."""
    selected: int = 0
    claimed: str | None = None


class Chest(Struct, frozen=True):
    """A chest that has not been emptied."""

    id: str
    kind: ChestKind
    state: ChestState = "closed"
    """closed, or choosing once its offers are drawn."""
    offers: tuple[str, ...] = ()
    skipped: bool = False
    """Whether somebody put it off; it stays until it is opened."""


def get_chest_kind(chest_id: str) -> ChestKind:
    """Return the kind of a chest, which its id begins with."""
    return "bonus" if chest_id.startswith(BONUS_CHEST_PREFIX) else "level"


def list_pool(level: int, owned: Collection[str]) -> list[Cosmetic]:
    """Return the items that chests of a level may contain."""
    return [item for item in COSMETICS if item.level <= level and item.id not in owned and not item.is_starter]


def draw_offers(chest_id: str, level: int, owned: Collection[str]) -> tuple[str, ...]:
    """Draw the items that a chest offers."""
    count = BONUS_OFFERS if get_chest_kind(chest_id) == "bonus" else LEVEL_OFFERS
    pool = sorted(list_pool(level, owned), key=lambda item: hash_parts("offer", chest_id, item.id))
    return tuple(item.id for item in pool[:count])


def advance_ceremony(chest: ChestCeremony, seconds: float) -> ChestCeremony:
    """Let time pass: each state but choosing leads to the next by itself."""
    chest = chest._replace(seconds=chest.seconds + seconds)
    while (limit := STATE_SECONDS.get(chest.state)) is not None and chest.seconds > limit:
        chest = _enter_next_state(chest)._replace(seconds=chest.seconds - limit)
    return chest


def press_key(chest: ChestCeremony) -> ChestCeremony:
    """React to Enter or Space: skip the wobble, or claim the selected item."""
    if chest.state in ("closed", "wobble"):
        return chest._replace(state="opening", seconds=0.0)
    if chest.state == "choosing":
        return chest._replace(state="claiming", seconds=0.0, claimed=chest.offers[chest.selected])
    return chest


def move_selection(chest: ChestCeremony, step: int) -> ChestCeremony:
    """React to an arrow key: select the next or the previous offer."""
    if chest.state != "choosing":
        return chest
    return chest._replace(selected=(chest.selected + step) % len(chest.offers))


def _enter_next_state(chest: ChestCeremony) -> ChestCeremony:
    if chest.state != "revealing":
        return chest._replace(state=_NEXT_STATES[chest.state])
    if len(chest.offers) > 1:
        return chest._replace(state="choosing")
    return chest._replace(state="claiming", claimed=chest.offers[0] if chest.offers else None)
