"""What a hero can wear: forty items in four slots, each with the level from which a chest may contain it."""

from __future__ import annotations

from typing import Literal, NamedTuple

Slot = Literal["hat", "face", "aura", "trail"]
SLOTS: tuple[Slot, ...] = ("hat", "face", "aura", "trail")


class Cosmetic(NamedTuple):
    """An item that a hero can wear."""

    id: str
    slot: Slot
    name: str
    level: int
    """The minimum level; chests offer the item only from this level on."""
    is_starter: bool = False
    """Whether every hero owns it from the beginning."""


_TABLE: dict[Slot, tuple[tuple[int, str, str], ...]] = {
    "hat": (
        (1, "wizard", "Wizard hat"),
        (2, "party", "Party hat"),
        (4, "headphones", "Headphones"),
        (6, "beret", "Beret"),
        (8, "tophat", "Top hat"),
        (10, "laurel", "Laurel wreath"),
        (11, "catears", "Cat ears"),
        (14, "crown", "Crown"),
        (17, "propeller", "Propeller cap"),
        (20, "pirate", "Pirate hat"),
        (24, "horned", "Horned helmet"),
        (28, "chef", "Chef's hat"),
        (32, "halo", "Halo"),
        (37, "jester", "Jester's cap"),
        (42, "cowboy", "Cowboy hat"),
        (48, "mushroom", "Mushroom cap"),
    ),
    "face": (
        (1, "mustache", "Moustache"),
        (3, "shades", "Sunglasses"),
        (7, "monocle", "Monocle"),
        (10, "pipe", "Pipe"),
        (13, "freckles", "Freckles"),
        (18, "eyepatch", "Eye patch"),
        (23, "glasses3d", "3D glasses"),
        (30, "clownnose", "Clown nose"),
        (38, "mask", "Ninja mask"),
        (45, "beard", "Wizard's beard"),
    ),
    "aura": (
        (5, "dust", "Pixel dust"),
        (9, "flame", "Flames"),
        (15, "frost", "Frost"),
        (21, "spark", "Lightning"),
        (27, "shadow", "Shadow"),
        (34, "heart", "Hearts"),
        (40, "code", "Falling code"),
        (47, "rainbow", "Rainbow"),
    ),
    "trail": (
        (12, "sparkle", "Sparkles"),
        (19, "ember", "Embers"),
        (26, "ice", "Ice"),
        (33, "petals", "Petals"),
        (41, "pixel", "Pixels"),
        (50, "rainbow", "Rainbow"),
    ),
}
_STARTERS = frozenset({"hat-wizard", "face-mustache"})
COSMETICS: tuple[Cosmetic, ...] = tuple(
    Cosmetic(f"{slot}-{name}", slot, words, level, f"{slot}-{name}" in _STARTERS)
    for slot, rows in _TABLE.items()
    for level, name, words in rows
)
COSMETIC_BY_ID = {item.id: item for item in COSMETICS}
STARTER_IDS = tuple(item.id for item in COSMETICS if item.is_starter)
