"""The party of the sessions that are alive: their game events as they happen, and the snapshot of all.

    feed = QuestFeed(watcher, keeper)
    feed.build_snapshot()
    feed.poll()                     the game events since the last poll, with the experience that they earned

A session is a hero from when it appears until its client ends. If there are more sessions than the party has places, a
session that waits for a person takes the place of any other, and one that works that of one that is idle; otherwise
heroes keep their places. Every event counts for the
profile, whether its hero is in the party or not. What a hero does follows from the events and from the state on the
board; where they differ, the state counts.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from turnlog.errors import TurnlogError
from turnlog.live.board import BoardRow
from turnlog.live.event_stream import to_iso_seconds
from turnlog.live.events.event import MAIN_ACTOR, AnyEvent
from turnlog.live.events.fold import to_actor
from turnlog.live.states import SessionState
from turnlog.live.verdicts import WORKING_KINDS
from turnlog.live.watcher import Watcher
from turnlog.quest.arrival import describe_arrival, is_agent_at_work, read_recent_events
from turnlog.quest.chests import get_chest_kind
from turnlog.quest.game_event import GameEvent
from turnlog.quest.ledger import EventReward, ProfileKeeper
from turnlog.quest.party_state import PartyState
from turnlog.quest.translation import CompanionFacts, GameTranslator, HeroFacts

MAX_PARTY_HEROES = 8
MAX_UNCOUNTED_EVENTS = 20_000
"""More are left to `--rebuild`."""
LIVE_BUSY_TIMEOUT_MS = 1000
"""How long the party waits for a process that counts; otherwise it tries again."""
_RETRY_SECONDS = 2.0
_COLUMN_ORDER = ("needs", "working", "idle")
_WAITING_KINDS = ("waiting", "permission")


class _Member:
    """A session in the party."""

    def __init__(self, row: BoardRow, translator: GameTranslator) -> None:
        self.row = row
        self.translator = translator
        self.acted_at = float("-inf")
        """When the main agent last did something, as the clock's monotonic time."""


class QuestFeed:
    """The game events of the sessions that a watcher follows; without a keeper, nothing is counted."""

    def __init__(self, watcher: Watcher, keeper: ProfileKeeper | None = None, hero: HeroFacts | None = None) -> None:
        """`hero` is shown even if its session is not active."""
        self._watcher = watcher
        self._keeper = keeper
        self._members: dict[str, _Member] = {}
        self._absent: GameTranslator | None = None
        self._party = PartyState()
        self._started = time.monotonic()
        self.problem: str | None = None
        """Why the profile can't be written; None if it can."""
        self._uncounted: list[AnyEvent] = []
        self._next_try = 0.0
        watcher.poll()  # what happened before is history
        if hero is not None:
            self._absent = GameTranslator(hero)
            self._show(self._absent.enter())
        self._update_members(time.time(), is_start=True)
        self._follow_states(time.time())

    @property
    def pause_seconds(self) -> float:
        """How long to wait until the next poll."""
        return self._watcher.pause_seconds

    def build_snapshot(self) -> dict[str, Any]:
        """Return the whole party, and the profile."""
        profile = self._keeper.read_profile() if self._keeper else None
        return {"sessions": self._party.to_documents(), "profile": profile}

    def poll(self) -> list[GameEvent]:
        """Return what has happened since the last poll."""
        events = self._watcher.poll()
        now = time.time()
        rewards = self._count_events(events)
        found = self._update_members(now, events)
        for event, reward in zip(events, rewards, strict=True):
            found += self._translate(event, reward)
        return self._show(found) + self._follow_states(now)

    def _count_events(self, events: Sequence[AnyEvent]) -> list[EventReward]:
        """Count events; while the profile can't be written, the party goes on, and they are counted later."""
        nothing = [EventReward() for _ in events]
        if self._keeper is None:
            return nothing
        self._uncounted = [*self._uncounted, *events][-MAX_UNCOUNTED_EVENTS:]
        if not self._uncounted or time.monotonic() < self._next_try:
            return nothing
        try:
            rewards = self._keeper.count_events(self._uncounted)
        except TurnlogError as error:
            self.problem, self._next_try = str(error), time.monotonic() + _RETRY_SECONDS
            return nothing
        self.problem, self._uncounted = None, []
        return rewards[len(rewards) - len(events) :]

    def _show(self, events: Sequence[GameEvent]) -> list[GameEvent]:
        at = time.monotonic() - self._started
        for event in events:
            self._party.apply_event(event)
        return [replace(event, at=at) for event in events]

    # -- the members of the party

    def _update_members(self, now: float, batch: Sequence[AnyEvent] = (), *, is_start: bool = False) -> list[GameEvent]:
        """Let sessions join and make room; return the events of that. `batch` is what will be translated next."""
        rows = {row.path: row for row in self._watcher.list_rows() if row.column != "ended"}
        events: list[GameEvent] = []
        for path, member in list(self._members.items()):
            if path in rows:
                member.row = rows[path]
        waiting = [row for path, row in rows.items() if path not in self._members]
        waiting.sort(key=lambda row: (_COLUMN_ORDER.index(row.column), -row.written))
        for row in waiting:
            if len(self._members) >= MAX_PARTY_HEROES:
                events += self._make_room(row, now)
            if len(self._members) >= MAX_PARTY_HEROES:
                break
            own = (
                event.offset or 0 for event in batch if event.session == row.session_id and event.actor == MAIN_ACTOR
            )
            end = min(own, default=self._watcher.find_offset(row.path))
            events += self._join(row, end, now, is_start=is_start)
        return events

    def _make_room(self, row: BoardRow, now: float) -> list[GameEvent]:
        """Let a hero leave whose session matters less than the new one: idle before working, and silent for longest."""
        rank = _COLUMN_ORDER.index(row.column)
        others = [member for member in self._members.values() if _COLUMN_ORDER.index(member.row.column) > rank]
        if not others:
            return []
        least = min(others, key=lambda member: (-_COLUMN_ORDER.index(member.row.column), member.row.written))
        reason = "makes room for a session that " + ("waits for you" if row.column == "needs" else "works")
        return self._leave(least, reason, now)

    def _leave(self, member: _Member, reason: str, now: float) -> list[GameEvent]:
        self._members.pop(member.row.path, None)
        return [GameEvent("leave", member.row.session_id, time=to_iso_seconds(now), fields={"reason": reason})]

    def _join(self, row: BoardRow, end: int, now: float, *, is_start: bool) -> list[GameEvent]:
        """Let a session join; what it did before is known from the end of the first `end` bytes of its file."""
        hero = HeroFacts(row.session_id, row.project, row.title)
        translator = GameTranslator(hero, lambda actor: self._find_companion(row.path, actor))
        self._absent = None if self._absent and self._absent.hero.session == row.session_id else self._absent
        member = self._members[row.path] = _Member(row, translator)
        entrance = translator.enter(to_iso_seconds(row.written))
        past = [event for old in read_recent_events(row, end) for event in translator.translate(old)]
        present = [*self._settle(member), *self._find_companions(member, past, now)]
        for event in [*entrance, *past, *present]:
            self._party.apply_event(event)
        return [] if is_start else [*entrance, *describe_arrival(past, row), *present]

    def _settle(self, member: _Member) -> list[GameEvent]:
        """Correct what a file alone says by the state of the session."""
        translator, state = member.translator, member.row.state
        events: list[GameEvent] = []
        if state.kind not in _WAITING_KINDS:
            events += translator.end_all_waits(state.since)
        if state.kind not in WORKING_KINDS:
            events.append(GameEvent("idle", member.row.session_id, time=state.since, fields={"reason": state.reason}))
        if state.kind not in (*WORKING_KINDS, *_WAITING_KINDS, "background"):
            events += translator.finish_all_companions(state.since)
        return events

    def _find_companions(self, member: _Member, past: Sequence[GameEvent], now: float) -> list[GameEvent]:
        """Return the companions of sub-agents that are at work, and whose start is not in what was read."""
        if member.row.state.kind not in (*WORKING_KINDS, *_WAITING_KINDS, "background"):
            return []
        over = {event.fields["agent"] for event in past if event.game == "agent_finish"}
        return [
            event
            for one in self._watcher.list_agents(member.row.path)
            if not over & {one.call, to_actor(one.agent_id)} and is_agent_at_work(one.path, member.row.state, now)
            for event in member.translator.meet_companion(to_actor(one.agent_id))
        ]

    def _find_companion(self, path: str, actor: str) -> CompanionFacts | None:
        for member in self._watcher.list_agents(path):
            if to_actor(member.agent_id) == actor:
                return CompanionFacts(member.call, member.type, member.description)
        return None

    # -- events

    def _translate(self, event: AnyEvent, reward: EventReward) -> list[GameEvent]:
        member = next((one for one in self._members.values() if one.row.session_id == event.session), None)
        if member is not None:
            games = member.translator.translate(event)
            if event.actor == MAIN_ACTOR:
                member.acted_at = self._watcher.get_monotonic_time()
        elif self._absent is not None and self._absent.hero.session == event.session:
            games = self._absent.translate(event)
        else:
            return []
        if any(game.game == "leave" for game in games) and member is not None:
            self._members.pop(member.row.path, None)
        return add_reward(games, reward, event)

    def _follow_states(self, now: float) -> list[GameEvent]:
        """Let heroes do what their sessions do according to the board, where no event of a transcript says so."""
        shown: list[GameEvent] = []
        rows = self._watcher.board.rows
        for path, member in list(self._members.items()):
            row = rows.get(path)
            if row is None or row.column == "ended":
                shown += self._show(self._leave(member, row.state.reason if row else "its file was deleted", now))
            elif member.acted_at < self._watcher.judged_at:  # otherwise the state is older than what the hero did
                shown += self._follow_state(member.translator, row.state, to_iso_seconds(now))
        return shown

    def _follow_state(self, translator: GameTranslator, state: SessionState, time: str) -> list[GameEvent]:
        """Correct what a hero does by the state of its session: waits first, then rests, then work."""
        is_waiting, is_compacting = state.kind in _WAITING_KINDS, state.kind == "compacting"
        events: list[GameEvent] = []
        if is_waiting and not translator.waiting:
            events += translator.start_wait_by_state(state.kind, state.words, time)
        elif not is_waiting:
            events += translator.end_all_waits(time)
        events += translator.start_rest(time) if is_compacting else translator.end_rest(time)
        shown = self._show(events)
        hero = self._party.heroes.get(translator.hero.session)
        if hero is None or is_waiting or is_compacting or state.kind == "background":
            return shown  # a hero whose session works in the background may walk or stand
        if state.kind in WORKING_KINDS and hero.mode != "active":
            shown += self._show(translator.resume_work(state.words, time))
        elif state.kind not in WORKING_KINDS and hero.mode == "active":
            shown += self._show(translator.rest_from_work(state.words, time))
        return shown


def add_reward(games: list[GameEvent], reward: EventReward, event: AnyEvent) -> list[GameEvent]:
    """Attach what an event earned to its game events, and add those of the progress."""
    flow_xp = tuple(grant for grant in reward.grants if grant.reason == "flow")
    own_xp = tuple(grant for grant in reward.grants if grant.reason != "flow")
    if own_xp and games:
        games[-1] = replace(games[-1], xp=own_xp)
    place: dict[str, Any] = {"session": event.session, "time": event.time}
    if reward.flow is not None:
        games.append(GameEvent("flow", **place, xp=flow_xp, fields={"meter": round(reward.flow, 3)}))
    if reward.level is not None:
        chest = {"id": reward.chest, "kind": "level"} if reward.chest else None
        games.append(GameEvent("level_up", **place, fields={"level": reward.level, "chest": chest}))
    if reward.bonus_chest is not None:
        chest = {"id": reward.bonus_chest, "kind": get_chest_kind(reward.bonus_chest)}
        games.append(GameEvent("chest", **place, fields={"chest": chest, "reason": reward.bonus}))
    return games
