"""Counts what sessions do into the profile, and reads the profile back.

    keeper = ProfileKeeper(data_dir)
    rewards = keeper.count_events(events)        one reward for each event, in order
    keeper.read_profile()

`count_events` is safe to call for the same events any number of times, from any number of processes.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec

from turnlog.errors import Unreadable
from turnlog.live.events.event import MAIN_ACTOR, AnyEvent, SessionStarted
from turnlog.quest.chests import (
    BONUS_CHEST_PREFIX,
    LEVEL_CHEST_PREFIX,
    Chest,
    ChestKind,
    list_pool,
)
from turnlog.quest.experience import (
    BonusReason,
    Deed,
    DeedKind,
    DeedReward,
    SessionProgress,
    apply_deed,
    compute_level,
    list_base_grants,
    list_deeds,
    measure_flow,
    roll_bonus,
)
from turnlog.quest.game_event import XpGrant
from turnlog.quest.profile import EMPTY_PROFILE, QuestProfile, QuestStats, build_profile
from turnlog.quest.profile_store import BUSY_TIMEOUT_MS, DamagedProfile, ProfileFile

_decode_progress = msgspec.json.Decoder(SessionProgress).decode
_COLUMNS: dict[DeedKind, tuple[str, ...]] = {
    "read": ("reads", "calls"),
    "write": ("writes", "calls"),
    "command-ok": ("commands", "commands_ok", "calls"),
    "command-failed": ("commands", "calls"),
    "call": ("calls",),
    "think": ("thoughts",),
    "hard": ("thoughts_hard",),
    "harder": ("thoughts_harder",),
    "ultra": ("thoughts_ultra",),
    "todo": ("todos",),
    "agent": ("agents",),
    "tokens": ("tokens",),
}
"""What each kind of deed adds to."""
_SUM_COLUMNS = (*dict.fromkeys(name for names in _COLUMNS.values() for name in names), "flow_peaks")


class EventReward(NamedTuple):
    """What one event earned."""

    grants: tuple[XpGrant, ...] = ()
    level: int | None = None
    """The level that was reached, if a new one was."""
    chest: str | None = None
    """The chest of that level, if there is an item for it."""
    bonus: BonusReason | None = None
    bonus_chest: str | None = None
    flow: float | None = None
    """The flow meter, if it rose."""


class ProfileKeeper:
    """The profile in a data folder."""

    def __init__(self, data_dir: Path, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> None:
        self.file = ProfileFile(data_dir, busy_timeout_ms)

    def read_profile(self, problem: str | None = None) -> QuestProfile:
        """Return the profile without changing anything; a damaged one is empty, and says so."""
        try:
            with self.file.read() as db:
                return EMPTY_PROFILE if db is None else load_profile(db)
        except DamagedProfile as error:
            return build_profile(0, QuestStats(), problem=f"{error}; the next event that counts sets it aside")

    def count_events(self, events: Sequence[AnyEvent]) -> list[EventReward]:
        """Count events of any sessions, and return what each earned; nothing is written if none counts."""
        if not any(map(is_worth_counting, events)):
            return [EventReward() for _ in events]
        with self.file.write() as db:
            ledgers: dict[str, SessionLedger] = {}
            xp: int = db.execute("SELECT coalesce(sum(xp), 0) FROM session").get
            rewards = []
            for event in events:
                if event.session not in ledgers:
                    ledgers[event.session] = SessionLedger.load(db, event.session)
                ledger = ledgers[event.session]
                before = ledger.pending_xp
                reward = ledger.count_event(event)
                level, xp = compute_level(xp), xp + ledger.pending_xp - before
                if compute_level(xp) > level:
                    reward = add_level(db, reward, compute_level(xp))
                rewards.append(reward)
            for ledger in ledgers.values():
                ledger.save()
            return rewards

    def recount_session(self, uuid: str, events: Iterable[AnyEvent]) -> int:
        """Count a session again from its first event; return the number of events."""
        (number,) = self.recount_sessions([(uuid, events)])
        if isinstance(number, Unreadable):
            raise number
        return number

    def recount_sessions(self, batch: Iterable[tuple[str, Iterable[AnyEvent]]]) -> list[int | Unreadable]:
        """Count sessions again from their first events; return the number of events of each, or why it can't be read.

        The events are read inside the transaction, so that nobody counts one of them at the same time. A session that
        can't be read keeps what it has earned.
        """
        numbers: list[int | Unreadable] = []
        with self.file.write() as db:
            for uuid, events in batch:
                try:
                    with db:  # a transaction inside the other
                        numbers.append(_recount(db, uuid, events))
                except Unreadable as error:
                    numbers.append(error)
        return numbers

    def clear_problem(self) -> None:
        """Forget that a damaged profile was set aside, because everything was counted again."""
        with self.file.write() as db:
            db.execute("DELETE FROM note WHERE name = 'problem'")


def _recount(db: apsw.Connection, uuid: str, events: Iterable[AnyEvent]) -> int:
    ledger, number = SessionLedger.load(db, uuid), 0
    ledger.reset()
    for event in events:
        ledger.count_event(event)
        number += 1
    ledger.save()
    return number


def is_worth_counting(event: AnyEvent) -> bool:
    """Return whether an event may change the profile."""
    return isinstance(event, SessionStarted) or bool(list_deeds(event, SessionProgress(is_whole=True)))


def add_level(db: apsw.Connection, reward: EventReward, level: int) -> EventReward:
    """Add a level to a reward, and the level's chest if there is an item for it."""
    name = f"{LEVEL_CHEST_PREFIX}{level}"
    chests = list_chests(db, level, load_owned(db))
    return reward._replace(level=level, chest=name if any(chest.id == name for chest in chests) else None)


class SessionLedger:
    """The rows of one session, inside a transaction."""

    def __init__(self, db: apsw.Connection, number: int, uuid: str, progress: SessionProgress) -> None:
        self._db = db
        self._number = number
        self._uuid = uuid
        self._progress = progress
        self._sums: dict[str, int] = defaultdict(int)
        self._times: list[str] = []

    @classmethod
    def load(cls, db: apsw.Connection, uuid: str) -> SessionLedger:
        row = db.execute("SELECT id, progress FROM session WHERE uuid = ?", (uuid,)).fetchone()
        if row is not None:
            return cls(db, row[0], uuid, _decode_progress(row[1]))
        progress = SessionProgress()
        db.execute("INSERT INTO session (uuid, progress) VALUES (?, ?)", (uuid, msgspec.json.encode(progress)))
        return cls(db, db.last_insert_rowid(), uuid, progress)

    @property
    def pending_xp(self) -> int:
        """The experience that was added and is not written yet."""
        return self._sums["xp"]

    def reset(self) -> None:
        """Forget what was counted for this session."""
        zeros = ", ".join(f"{name} = 0" for name in ("xp", *_SUM_COLUMNS, "best_streak"))
        self._db.execute("DELETE FROM deed WHERE session = ?", (self._number,))
        self._db.execute(
            f"UPDATE session SET {zeros}, bonus = NULL, first_seen = NULL, last_seen = NULL WHERE id = ?",
            (self._number,),
        )
        self._progress = SessionProgress()

    def count_event(self, event: AnyEvent) -> EventReward:
        """Count the deeds of an event that were not counted before."""
        grants: list[XpGrant] = []
        before = self._progress.flow
        has_counted = False
        for deed in list_deeds(event, self._progress):
            reward = self._count_deed(deed)
            if reward is None:
                grants += list_base_grants(deed)  # it was counted by another process: the page shows it nevertheless
                continue
            has_counted = True
            grants += reward.grants
            self._sums["xp"] += reward.xp
            self._sums["flow_peaks"] += reward.has_peaked
        if event.time:
            self._times = [min([event.time, *self._times]), max([event.time, *self._times])]
        if not has_counted:
            return EventReward(tuple(grants))
        bonus = roll_bonus(self._uuid, self._progress)
        return EventReward(
            tuple(grants),
            bonus=bonus,
            bonus_chest=f"{BONUS_CHEST_PREFIX}{self._uuid}" if bonus else None,
            flow=self._progress.flow if self._progress.flow != before else None,
        )

    def _count_deed(self, deed: Deed) -> DeedReward | None:
        """Count a deed; return None if this session already was rewarded for it."""
        self._db.execute("INSERT OR IGNORE INTO deed VALUES (?, ?)", (deed.key, self._number))
        is_own = bool(self._db.changes())
        if not is_own:
            owner = self._db.execute("SELECT session FROM deed WHERE key = ?", (deed.key,)).get
            if owner == self._number:
                return None
        else:
            for name in _COLUMNS[deed.kind]:
                self._sums[name] += deed.amount
        return apply_deed(self._progress, deed, is_own=is_own)

    def save(self) -> None:
        """Write what was counted."""
        progress, sums = self._progress, {name: count for name, count in self._sums.items() if count}
        encoded = msgspec.json.encode(progress)
        first, last = (self._times[0], self._times[-1]) if self._times else (None, None)
        added = "".join(f", {name} = {name} + {count:d}" for name, count in sums.items())
        self._db.execute(
            "UPDATE session SET progress = ?, best_streak = ?, bonus = ?,"
            " first_seen = coalesce(min(first_seen, ?), first_seen, ?),"
            f" last_seen = coalesce(max(last_seen, ?), last_seen, ?){added} WHERE id = ?",
            (
                encoded,
                progress.best_streak,
                progress.bonus,
                first,
                first,
                last,
                last,
                self._number,
            ),
        )


# -- reading


def load_owned(db: apsw.Connection) -> frozenset[str]:
    """Return the items that were taken from chests."""
    return frozenset(item for (item,) in db.execute("SELECT item FROM chest WHERE item IS NOT NULL"))


def list_chests(db: apsw.Connection, level: int, owned: frozenset[str]) -> tuple[Chest, ...]:
    """Return the chests that wait, those of the latest levels first: no more than there are items for."""
    known: dict[str, Any] = {row[0]: row[1:] for row in db.execute("SELECT id, state, offers, skipped FROM chest")}
    names = [(f"{LEVEL_CHEST_PREFIX}{number}", "level") for number in range(level, 0, -1)]
    bonus = db.execute("SELECT uuid FROM session WHERE bonus IS NOT NULL ORDER BY id")
    names += [(f"{BONUS_CHEST_PREFIX}{uuid}", "bonus") for (uuid,) in bonus]
    pool = {item.id for item in list_pool(level, owned)}
    chests: list[Chest] = []
    for name, kind in names:
        state, offers, skipped = known.get(name, ("closed", "[]", 0))
        if state != "done":
            left = tuple(item for item in json.loads(offers) if item in pool)
            chests.append(Chest(name, _to_kind(kind), state if left else "closed", left, skipped=bool(skipped)))
    chests.sort(key=lambda chest: chest.state != "choosing")
    return tuple(chests[: len(pool)])


def _to_kind(text: str) -> ChestKind:
    return "bonus" if text == "bonus" else "level"


def load_profile(db: apsw.Connection) -> QuestProfile:
    """Read the profile in one transaction."""
    sums = ", ".join(f"coalesce(sum({name}), 0)" for name in _SUM_COLUMNS)
    row: Any = db.execute(
        f"SELECT coalesce(sum(xp), 0), count(*), coalesce(max(best_streak), 0), count(bonus), min(first_seen),"
        f" max(last_seen), {sums} FROM session"
    ).fetchone()
    xp, sessions, best, bonus, first, last = row[:6]
    stats = QuestStats(
        sessions=sessions,
        best_streak=best,
        bonus_chests=bonus,
        first_seen=first,
        last_seen=last,
        **dict(zip(_SUM_COLUMNS, row[6:], strict=True)),
    )
    owned = load_owned(db)
    worn: Any = db.execute("SELECT slot, item FROM worn").fetchall()
    latest = db.execute("SELECT progress FROM session ORDER BY last_seen DESC LIMIT 1").get
    progress = _decode_progress(latest) if latest else SessionProgress()
    return build_profile(
        xp,
        stats,
        owned=owned,
        worn=dict(worn),
        chests=list_chests(db, compute_level(xp), owned),
        flow=measure_flow(progress, time.time()),
        streak=progress.streaks.get(MAIN_ACTOR, 0),
        problem=db.execute("SELECT text FROM note WHERE name = 'problem'").get,
    )
