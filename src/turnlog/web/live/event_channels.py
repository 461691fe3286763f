"""Streams of events: those of all sessions, and those of one.

An event's id counts the events of its channel. A reader that returns with the id of a remembered event continues after
it; for any other id, it gets `reset`, because events may be missing.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path

from turnlog.live.events.event import AnyEvent
from turnlog.live.hook_reports import HookReports
from turnlog.live.page_updates import PageUpdate, build_page_update
from turnlog.live.watcher import Watcher
from turnlog.render.json_bytes import to_json_bytes
from turnlog.web.live.stream import Channel
from turnlog.web.machine import Machine

HISTORY_PREFIX = "history:"
"""Starts the cursor of a reader that wants earlier events first; their number follows."""
MAX_HISTORY_EVENTS = 10_000


class EventChannel(Channel):
    """The events of all sessions on the machine, or of one."""

    def __init__(self, machine: Machine, config_dirs: Sequence[Path], session: Path | None = None) -> None:
        super().__init__(machine.ending)
        self._session = session
        chosen = None if session is None else [session]
        self._watcher = Watcher(config_dirs, chosen, reports=HookReports(machine.data_dir))
        self._watcher.poll()
        self._name = secrets.token_hex(4)
        self._count = 0

    def add_config_dir(self, folder: Path) -> None:
        """Follow the sessions of one more config folder."""
        with self._lock:
            self._watcher.board.add_config_dir(folder)

    def _poll_updates(self) -> Sequence[PageUpdate]:
        return [self._to_update(event) for event in self._watcher.poll()]

    def _to_update(self, event: AnyEvent) -> PageUpdate:
        self._count += 1
        return PageUpdate("event", to_json_bytes(event), f"{self._name}-{self._count}")

    def _read_missed_updates(self, cursor: str | None) -> Iterator[PageUpdate]:
        here = f"{self._name}-{self._count}"
        if not cursor or cursor == here:
            return iter(())
        if not cursor.startswith(HISTORY_PREFIX):
            return iter([build_page_update("reset", here)])
        number = cursor.removeprefix(HISTORY_PREFIX)
        count = min(int(number), MAX_HISTORY_EVENTS) if number.isdecimal() and len(number) < 10 else 0
        events = [] if self._session is None else self._watcher.read_history(str(self._session), count)
        return iter([PageUpdate("event", to_json_bytes(event), here) for event in events])

    def _close_source(self) -> None:
        pass

    def _choose_pause(self) -> float:
        return self._watcher.pause_seconds
