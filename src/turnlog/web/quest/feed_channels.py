"""The feeds of the quest: of the live party, and of scripts such as a replay or the demo.

    snapshot    the whole party and the profile; always first, also after a reconnect
    game        a game event
    profile     the profile has changed

Watching counts experience. That happens in the channel's own polls, in the background, once for all pages; no request
of a page writes anything but a choice that a person has made.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from turnlog.errors import TurnlogError
from turnlog.live.hook_reports import HookReports
from turnlog.live.page_updates import PageUpdate, encode_update_data
from turnlog.live.watcher import Watcher
from turnlog.quest.feed import LIVE_BUSY_TIMEOUT_MS, QuestFeed
from turnlog.quest.ledger import ProfileKeeper
from turnlog.quest.profile import EMPTY_PROFILE, QuestProfile
from turnlog.quest.replay_script import QuestScript
from turnlog.quest.translation import HeroFacts
from turnlog.render.json_bytes import to_plain_value
from turnlog.web.live.live import FollowedSession
from turnlog.web.live.stream import Channel
from turnlog.web.machine import Machine

_PROFILE_CHECK_SECONDS = 0.5
_LATEST_SCRIPT_SECONDS = 0.25
"""How long to wait at most until the end of the server is noticed."""


class QuestChannel(Channel):
    """The live party, or one session of it."""

    def __init__(self, machine: Machine, session: FollowedSession | None = None) -> None:
        super().__init__(machine.ending)
        chosen = None if session is None else [session.path]
        hero = None if session is None else HeroFacts(session.path.stem, session.project, session.title)
        watcher = Watcher(machine.config_dirs, chosen, reports=HookReports(machine.data_dir))
        # The made-up sessions of an empty machine earn nothing.
        self._keeper = ProfileKeeper(machine.data_dir, LIVE_BUSY_TIMEOUT_MS)
        self._feed = QuestFeed(watcher, None if machine.is_demo else self._keeper, hero)
        self._count = 0
        self._checked = 0.0
        self._signature = _read_signature(self._keeper), self._feed.problem

    def _poll_updates(self) -> Sequence[PageUpdate]:
        updates = [self._build_update("game", event.to_document()) for event in self._feed.poll()]
        return [*updates, *self._check_profile()]

    def _check_profile(self) -> list[PageUpdate]:
        """Return the profile if its file has changed, whichever process changed it."""
        if time.monotonic() - self._checked < _PROFILE_CHECK_SECONDS:
            return []
        self._checked = time.monotonic()
        signature = _read_signature(self._keeper), self._feed.problem
        if signature == self._signature:
            return []
        self._signature = signature
        return [self._build_update("profile", self._read_profile())]

    def _read_profile(self) -> dict[str, Any]:
        """Return the profile, with the reason if it can't be read or written."""
        problem = self._feed.problem
        try:
            profile = self._keeper.read_profile()
        except TurnlogError as error:
            profile, problem = EMPTY_PROFILE, str(error)
        document: dict[str, Any] = to_plain_value(profile)
        return {**document, "problem": problem or profile.problem}

    def _build_update(self, name: str, value: Any) -> PageUpdate:
        self._count += 1
        return PageUpdate(name, encode_update_data(value), str(self._count))

    def _read_missed_updates(self, cursor: str | None) -> Iterator[PageUpdate]:
        snapshot = {**self._feed.build_snapshot(), "profile": self._read_profile()}
        return iter([PageUpdate("snapshot", encode_update_data(snapshot), str(self._count))])

    def _close_source(self) -> None:
        pass

    def _choose_pause(self) -> float:
        return self._feed.pause_seconds


def _read_signature(keeper: ProfileKeeper) -> tuple[int, int, int] | None:
    try:
        status = os.stat(keeper.file.path)  # noqa: PTH116 - twice a second
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


async def stream_script(
    script: QuestScript, profile: QuestProfile, speed: float, begin: float, ending: threading.Event
) -> AsyncIterator[PageUpdate | None]:
    """Yield a snapshot at a time of a script, and then its events as they are due."""
    sessions, events = script.split_at(begin)
    start = {"sessions": sessions, "profile": to_plain_value(profile)}
    yield PageUpdate("snapshot", encode_update_data(start), f"{begin:g}")
    started = time.monotonic()
    for event in events:
        while (pause := (event.at - begin) / speed - (time.monotonic() - started)) > 0:
            if ending.is_set():
                return
            await asyncio.sleep(min(pause, _LATEST_SCRIPT_SECONDS))
        yield PageUpdate("game", encode_update_data(event.to_document()), f"{event.at:g}")
    yield PageUpdate("end", b"{}", f"{script.seconds:g}")
    while not ending.is_set():  # otherwise the browser would reconnect, and the script would start again
        await asyncio.sleep(_LATEST_SCRIPT_SECONDS)
