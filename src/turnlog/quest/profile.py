"""The profile: what all sessions of a machine have earned, what is unlocked, and what the heroes wear."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from turnlog.quest.chests import Chest
from turnlog.quest.cosmetics import COSMETICS, SLOTS, STARTER_IDS
from turnlog.quest.experience import compute_level, compute_level_xp


class QuestStats(Struct, frozen=True):
    """What has been counted, over all sessions."""

    sessions: int = 0
    calls: int = 0
    reads: int = 0
    writes: int = 0
    commands: int = 0
    commands_ok: int = 0
    best_streak: int = 0
    """The most commands that succeeded in a row."""
    thoughts: int = 0
    thoughts_hard: int = 0
    thoughts_harder: int = 0
    thoughts_ultra: int = 0
    """`thoughts` counts those without a higher level."""
    todos: int = 0
    agents: int = 0
    tokens: int = 0
    """The sizes of all requests of main agents, added up."""
    flow_peaks: int = 0
    bonus_chests: int = 0
    first_seen: str | None = None
    last_seen: str | None = None


class QuestProfile(Struct, frozen=True):
    """The lifetime profile."""

    level: int = 0
    xp: int = 0
    level_xp: int = 0
    """The experience at which this level started."""
    next: int = 100
    """The experience at which the next level starts."""
    flow: float = 0.0
    """How full the flow meter of the latest session is, from 0 to 1."""
    streak: int = 0
    """How many commands of the latest session's main agent have succeeded in a row."""
    unlocked: tuple[str, ...] = STARTER_IDS
    """The ids of the items that the heroes own."""
    worn: dict[str, str | None] = {}
    """The item in each slot."""
    chests: tuple[Chest, ...] = ()
    """The chests that wait to be opened."""
    stats: QuestStats = QuestStats()
    problem: str | None = None
    """What is wrong with the file of the profile, and what to do; None if nothing is."""


def build_profile(
    xp: int,
    stats: QuestStats,
    *,
    owned: Collection[str] = (),
    worn: dict[str, str | None] | None = None,
    chests: tuple[Chest, ...] = (),
    flow: float = 0.0,
    streak: int = 0,
    problem: str | None = None,
) -> QuestProfile:
    """Build the profile from what was counted and chosen."""
    level = compute_level(xp)
    unlocked = tuple(item.id for item in COSMETICS if item.is_starter or item.id in owned)
    slots = {slot: (worn or {}).get(slot) for slot in SLOTS}
    return QuestProfile(
        level,
        xp,
        compute_level_xp(level),
        compute_level_xp(level + 1),
        round(flow, 3),
        streak,
        unlocked,
        {slot: item if item in unlocked else None for slot, item in slots.items()},
        chests,
        stats,
        problem,
    )


EMPTY_PROFILE = build_profile(0, QuestStats())
