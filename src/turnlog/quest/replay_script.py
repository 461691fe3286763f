"""The game events of a session that is over, with the times at which a replay shows them.

A replay shows what each event was worth, but never changes the profile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from turnlog.entries.agents import list_agent_files, read_agent_meta
from turnlog.live.events.event import AnyEvent
from turnlog.live.events.file_events import iter_session_events
from turnlog.live.events.fold import to_actor
from turnlog.live.replay.clock import DEFAULT_MAX_GAP_SECONDS, schedule_times
from turnlog.quest.experience import SessionProgress, apply_deed, list_deeds
from turnlog.quest.feed import add_reward
from turnlog.quest.game_event import GameEvent
from turnlog.quest.ledger import EventReward
from turnlog.quest.party_state import PartyState
from turnlog.quest.translation import CompanionFacts, GameTranslator, HeroFacts
from turnlog.session.clock import parse_timestamp

_REST_SECONDS = 3.0
"""How long before its end a compaction starts to show: transcripts record only the end."""


class QuestScript(Struct, frozen=True):
    """Game events and their times, complete before the first one is shown."""

    events: list[GameEvent]
    seconds: float
    """The time of the last event."""

    def to_document(self) -> dict[str, Any]:
        """Return the script as JSON has it."""
        return {"seconds": round(self.seconds, 3), "events": [event.to_document() for event in self.events]}

    def split_at(self, seconds: float) -> tuple[list[dict[str, Any]], list[GameEvent]]:
        """Return the party at a time, as a snapshot has it, and the events from then on."""
        party = PartyState()
        for event in (event for event in self.events if event.at < seconds):
            party.apply_event(event)
        return party.to_documents(), [event for event in self.events if event.at >= seconds]


def build_replay_script(path: Path, hero: HeroFacts, max_gap: float | None = DEFAULT_MAX_GAP_SECONDS) -> QuestScript:
    """Build the script of a session's file and those of its sub-agents."""
    return build_script(list(iter_session_events(path)), hero, read_companion_facts(path), max_gap)


def build_script(
    events: Sequence[AnyEvent], hero: HeroFacts, facts: dict[str, CompanionFacts], max_gap: float | None = None
) -> QuestScript:
    """Build the script of live events; longer silences are shortened to `max_gap` seconds."""
    translator, progress = GameTranslator(hero, facts.get), SessionProgress()
    moments = [parse_timestamp(event.time) for event in events]
    times = schedule_times((moment.timestamp() if moment else None for moment in moments), max_gap)
    found: list[GameEvent] = []
    for event, time in zip(events, times, strict=True):
        games = add_reward(translator.translate(event), estimate_reward(progress, event), event)
        before = found[-1].at if found else 0.0
        found += (replace(game, at=_choose_time(game, before, time.at)) for game in games)
    return QuestScript(found, found[-1].at if found else 0.0)


def _choose_time(game: GameEvent, before: float, at: float) -> float:
    return max(before, at - _REST_SECONDS) if game.game == "compact_start" else at


def estimate_reward(progress: SessionProgress, event: AnyEvent) -> EventReward:
    """Return what an event is worth, without counting it anywhere."""
    before = progress.flow
    rewards = [apply_deed(progress, deed) for deed in list_deeds(event, progress)]
    grants = tuple(grant for reward in rewards for grant in reward.grants)
    return EventReward(grants, flow=progress.flow if progress.flow != before else None)


def read_companion_facts(path: Path) -> dict[str, CompanionFacts]:
    """Return what the files beside a session say about its sub-agents, by the actors of their events."""
    facts: dict[str, CompanionFacts] = {}
    for file in list_agent_files(path):
        meta = read_agent_meta(file.meta_path)
        texts = (meta.get(name) for name in ("toolUseId", "agentType", "description"))
        facts[to_actor(file.agent_id)] = CompanionFacts(
            *(text[:200] if isinstance(text, str) else "" for text in texts)
        )
    return facts


def merge_scripts(scripts: Iterable[QuestScript]) -> QuestScript:
    """Merge scripts that play at the same time."""
    events = sorted((event for script in scripts for event in script.events), key=lambda event: event.at)
    return QuestScript(events, events[-1].at if events else 0.0)
