"""What a person decides: which item to wear, and what to take from a chest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw

from turnlog.errors import NotFound, UsageError
from turnlog.quest.chests import Chest, draw_offers
from turnlog.quest.cosmetics import COSMETIC_BY_ID, SLOTS, STARTER_IDS
from turnlog.quest.experience import compute_level
from turnlog.quest.ledger import list_chests, load_owned, load_profile
from turnlog.quest.profile import QuestProfile
from turnlog.quest.profile_store import ProfileFile


def wear_item(data_dir: Path, slot: str, item_id: str | None) -> QuestProfile:
    """Put on an item that the heroes own, or take off the one in a slot; return the profile."""
    if slot not in SLOTS:
        raise UsageError(f"slot {slot}: use one of {', '.join(SLOTS)}")
    with ProfileFile(data_dir).write() as db:
        if item_id is None:
            db.execute("DELETE FROM worn WHERE slot = ?", (slot,))
        else:
            _check_wearable(db, slot, item_id)
            db.execute("INSERT OR REPLACE INTO worn VALUES (?, ?)", (slot, item_id))
        return load_profile(db)


def _check_wearable(db: apsw.Connection, slot: str, item_id: str) -> None:
    item = COSMETIC_BY_ID.get(item_id)
    if item is None or item.slot != slot:
        raise UsageError(f"item {item_id}: no such {slot}")
    if item_id not in STARTER_IDS and item_id not in load_owned(db):
        raise UsageError(f"item {item_id}: not unlocked yet; chests offer it from level {item.level}")


def open_chest(data_dir: Path, chest_id: str) -> QuestProfile:
    """Open a chest: its offers are drawn once and stay the same; return the profile."""
    with ProfileFile(data_dir).write() as db:
        chest, level = _find_chest(db, chest_id)
        offers = chest.offers or draw_offers(chest_id, level, load_owned(db))
        _save_chest(db, chest_id, "choosing", offers)
        return load_profile(db)


def claim_item(data_dir: Path, chest_id: str, item_id: str | None = None) -> QuestProfile:
    """Take an item from an open chest, which is then empty; return the profile."""
    with ProfileFile(data_dir).write() as db:
        chest, _ = _find_chest(db, chest_id)
        if chest.state != "choosing":
            raise UsageError(f"chest {chest_id}: not open yet")
        chosen = chest.offers[0] if item_id is None and len(chest.offers) == 1 else item_id
        if chosen not in chest.offers:
            raise UsageError(f"chest {chest_id}: choose one of {', '.join(chest.offers)}")
        _save_chest(db, chest_id, "done", chest.offers, chosen)
        return load_profile(db)


def skip_chest(data_dir: Path, chest_id: str) -> QuestProfile:
    """Put a chest off: it is not shown again by itself, but can still be opened; return the profile."""
    with ProfileFile(data_dir).write() as db:
        chest, _ = _find_chest(db, chest_id)
        _save_chest(db, chest_id, chest.state, chest.offers, skipped=True)
        return load_profile(db)


def _find_chest(db: apsw.Connection, chest_id: str) -> tuple[Chest, int]:
    """Return a chest that waits, and the level of the heroes."""
    xp: Any = db.execute("SELECT coalesce(sum(xp), 0) FROM session").get
    level = compute_level(xp)
    for chest in list_chests(db, level, load_owned(db)):
        if chest.id == chest_id:
            return chest, level
    raise NotFound(f"chest {chest_id[:80]}: there is no such chest, or it is empty")


def _save_chest(
    db: apsw.Connection,
    chest_id: str,
    state: str,
    offers: tuple[str, ...],
    item: str | None = None,
    *,
    skipped: bool = False,
) -> None:
    db.execute(
        "INSERT OR REPLACE INTO chest VALUES (?, ?, ?, ?, ?)", (chest_id, state, json.dumps(offers), item, skipped)
    )
