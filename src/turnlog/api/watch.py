"""Watches sessions while they work: yields their events, and returns what each session is doing now."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import Struct

from turnlog.api.config import Config, data_dir, load_config
from turnlog.api.lookup import list_config_folders, locate_sessions
from turnlog.api.sessions import is_in_project
from turnlog.errors import UsageError
from turnlog.live.board import BoardRow
from turnlog.live.crew import CrewMember
from turnlog.live.events.event import AnyEvent
from turnlog.live.hook_reports import HookReports
from turnlog.live.session_costs import CostBook
from turnlog.live.states import BoardColumn, SessionState
from turnlog.live.watcher import Watcher
from turnlog.session.clock import parse_timestamp, to_iso_time

COLUMN_ORDER: tuple[BoardColumn, ...] = ("needs", "working", "idle", "ended")
_ALL_BYTES = 1 << 62


class BoardSession(Struct, frozen=True):
    """A session on the board."""

    ref: str
    """Its reference in the web app's addresses."""
    session_id: str
    path: str
    title: str
    project: str
    """The folder in which it works."""
    git_branch: str | None
    column: BoardColumn
    written: str
    """When one of its files was last written."""
    state: SessionState
    cost_usd: float | None
    """What it has cost so far, sub-agents included; None while that is unknown."""
    last_sentence: str = ""
    """What the model said last, without Markdown."""


class BoardList(Struct, frozen=True):
    """What the sessions on a machine are doing."""

    files: int
    """How many session files are followed."""
    sessions: list[BoardSession]


class EventWatch:
    """Watches sessions: `poll` returns new events, and other methods return what each session is doing."""

    def __init__(
        self,
        session: str | Path | Iterable[str | Path] | None = None,
        *,
        project: str | None = None,
        since: datetime | None = None,
        config_dirs: Iterable[Path] | None = None,
        config: Config | None = None,
        cost_budget_bytes: int | None = None,
    ) -> None:
        """Watch one session, several, or all on this machine, starting now or at an earlier time.

        `project` limits them to a folder and those below it, or to folders whose name contains it.
        """
        config = config or load_config()
        folders = list_config_folders(config) if config_dirs is None else list(config_dirs)
        names = [session] if isinstance(session, str | Path) else session
        paths = None if names is None else locate_sessions(names, config)
        accepts = None if project is None else lambda row: is_in_project(row.project, project)
        self._watcher = Watcher(folders, paths, since=since, accepts=accepts, reports=HookReports(data_dir()))
        self._costs = CostBook() if cost_budget_bytes is None else CostBook(cost_budget_bytes)

    @property
    def pause_seconds(self) -> float:
        """How long to wait until the next poll."""
        return self._watcher.pause_seconds

    @property
    def file_count(self) -> int:
        """How many files are followed."""
        return self._watcher.size

    def poll(self) -> list[AnyEvent]:
        """Return what has happened since the last poll."""
        return self._watcher.poll()

    def list_sessions(self) -> list[BoardSession]:
        """Return what each session is doing, starting with those that need a person."""
        rows = self._watcher.list_rows()
        self._costs.read({row.path: row.written for row in rows if row.column != "ended"})
        return sort_board([to_board_session(row, self._costs.get(row.path)) for row in rows])

    def list_agents(self, session: BoardSession) -> list[CrewMember]:
        """Return the sub-agents of a recently active session."""
        return self._watcher.list_agents(session.path)


def to_board_session(row: BoardRow, cost: float | None, ref: str | None = None) -> BoardSession:
    """Describe a row of the board."""
    return BoardSession(
        ref or row.session_id,
        row.session_id,
        row.path,
        row.title or "(no title)",
        row.project,
        row.git_branch,
        row.column,
        to_iso_time(datetime.fromtimestamp(row.written, UTC)) or "",
        row.state,
        cost,
        row.last_sentence,
    )


def sort_board(sessions: Iterable[BoardSession]) -> list[BoardSession]:
    """Sort by column; then by the longest waiting or working time, or by the latest write for other sessions."""

    def get_key(session: BoardSession) -> tuple[int, float]:
        place = COLUMN_ORDER.index(session.column)
        since = parse_timestamp(session.state.since) if place < 2 else None
        written = parse_timestamp(session.written)
        moment = since or written
        seconds = moment.timestamp() if moment else 0.0
        return place, seconds if place < 2 else -seconds

    return sorted(sessions, key=get_key)


def list_board(project: str | None = None, *, config: Config | None = None) -> BoardList:
    """Return the current state of each session on this machine that is working, is waiting, or was active today."""
    watch = EventWatch(project=project, config=config, cost_budget_bytes=_ALL_BYTES)
    watch.poll()
    return BoardList(watch.file_count, watch.list_sessions())


def watch_events(
    session: str | Path | Iterable[str | Path] | None = None,
    *,
    project: str | None = None,
    since: datetime | None = None,
    config: Config | None = None,
    ending: threading.Event | None = None,
) -> Iterator[AnyEvent]:
    """Yield the events of one, several or all sessions as they happen, until `ending` is set.

    `project` limits them to a folder and those below it, or to folders whose name contains it. `since` starts at an
    earlier time.
    """
    ending = ending or threading.Event()
    watch = EventWatch(session, project=project, since=since, config=config)
    while not ending.is_set():
        yield from watch.poll()
        ending.wait(watch.pause_seconds)


_SINCE = re.compile(r"(\d{1,6})\s*(s|m|min|h|d)", re.ASCII | re.IGNORECASE)
_UNIT_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


def parse_since(text: str) -> datetime:
    """Parse a time, or an age such as `10m`, `2h` or `1d`."""
    if found := _SINCE.fullmatch(text.strip()):
        return datetime.now(UTC) - timedelta(seconds=int(found[1]) * _UNIT_SECONDS[found[2].lower()])
    moment = parse_timestamp(text)
    if moment is None:
        raise UsageError(f"--since {text}: not a time; use 10m, 2h, 1d or 2026-11-03T14:05")
    return moment
