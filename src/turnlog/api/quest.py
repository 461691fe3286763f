"""The quest: sessions as a game, its lifetime profile, and what a person decides in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from turnlog.api.config import Config, data_dir, load_config
from turnlog.api.index import Progress
from turnlog.api.lookup import Notify, list_config_folders, locate_session
from turnlog.entries.layout import list_session_files
from turnlog.errors import Unreadable
from turnlog.live.hook_reports import HookReports
from turnlog.live.watcher import Watcher
from turnlog.quest.cosmetics import COSMETICS, Cosmetic
from turnlog.quest.feed import LIVE_BUSY_TIMEOUT_MS, QuestFeed
from turnlog.quest.game_event import GameEvent
from turnlog.quest.ledger import ProfileKeeper
from turnlog.quest.profile import QuestProfile
from turnlog.quest.rebuild import rebuild_profile
from turnlog.quest.replay_script import QuestScript, build_replay_script
from turnlog.quest.translation import HeroFacts
from turnlog.quest.wardrobe import claim_item, open_chest, skip_chest, wear_item


class QuestRebuild(Struct, frozen=True):
    """A profile that was counted again."""

    sessions: int
    events: int
    xp_before: int
    profile: QuestProfile
    unread: tuple[str, ...]
    """The files that couldn't be read, with the reason."""


def read_quest_profile() -> QuestProfile:
    """Return the lifetime profile of the quest, without changing it."""
    return ProfileKeeper(data_dir()).read_profile()


def rebuild_quest_profile(
    *, config: Config | None = None, notify: Notify | None = None, progress: Progress | None = None
) -> QuestRebuild:
    """Count all sessions of this machine again, each event once; what was chosen from chests and is worn stays."""
    config = config or load_config()
    keeper = ProfileKeeper(data_dir())
    before = keeper.read_profile().xp
    folders = list_config_folders(config)
    files = [file for folder in folders for file in list_session_files(folder)]
    counts = rebuild_profile(keeper, files, progress or (lambda _done, _total: None))
    if notify is not None:
        for reason in counts.unread:
            notify(f"Not counted: {reason}")
    return QuestRebuild(counts.sessions, counts.events, before, keeper.read_profile(), counts.unread)


def list_cosmetics() -> list[Cosmetic]:
    """Return all items that a hero can wear."""
    return list(COSMETICS)


def wear_cosmetic(slot: str, item: str | None) -> QuestProfile:
    """Put on an item that is unlocked, or take off the one in a slot; return the profile."""
    return wear_item(data_dir(), slot, item)


def open_quest_chest(chest: str) -> QuestProfile:
    """Open a chest of the profile, which draws its offers; return the profile."""
    return open_chest(data_dir(), chest)


def claim_quest_chest(chest: str, item: str | None = None) -> QuestProfile:
    """Take an item from an open chest; return the profile."""
    return claim_item(data_dir(), chest, item)


def skip_quest_chest(chest: str) -> QuestProfile:
    """Put a chest off; return the profile."""
    return skip_chest(data_dir(), chest)


def replay_quest(
    session: str | Path, *, config: Config | None = None, notify: Notify | None = None
) -> Iterator[GameEvent]:
    """Yield the game events of a session in order, each with the time at which a replay shows it, without waiting."""
    yield from read_quest_script(session, config=config, notify=notify).events


def read_quest_script(
    session: str | Path, *, config: Config | None = None, notify: Notify | None = None
) -> QuestScript:
    """Return all game events of a session, for a player."""
    path = locate_session(session, config or load_config(), notify)
    if not path.exists():
        raise Unreadable(f"{path}: No such file or directory")
    return build_replay_script(path, describe_hero(path))


def open_quest_feed(
    session: str | Path | None = None, *, config: Config | None = None, config_dirs: list[Path] | None = None
) -> QuestFeed:
    """Follow the sessions of this machine, or one of them; `poll` returns their game events and counts experience."""
    config = config or load_config()
    folders = list_config_folders(config) if config_dirs is None else config_dirs
    path = None if session is None else locate_session(session, config)
    watcher = Watcher(folders, None if path is None else [path], reports=HookReports(data_dir()))
    keeper = ProfileKeeper(data_dir(), LIVE_BUSY_TIMEOUT_MS) if config_dirs is None else None
    return QuestFeed(watcher, keeper, None if path is None else describe_hero(path))


def describe_hero(path: Path) -> HeroFacts:
    """Return the name and the home of a session's hero, as the two ends of its file have them."""
    from turnlog.entries.peek import complete_titles, peek_safely

    ends = peek_safely(str(path))
    return HeroFacts(path.stem, ends.cwd or path.parent.name, complete_titles(str(path), ends).best or "")
