"""All sessions on a machine that are working, waiting, or were active today.

Following thousands of files takes little effort: files written within the last minutes are checked at every poll,
those of today every few seconds, all others only occasionally, when the folders are listed anyway. A new file is found
at once, because its folder's modification time changes. At first, only the last lines of a file are read; later, only
added lines.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from turnlog.entries.agents import list_agent_files
from turnlog.entries.clients import Client, list_clients
from turnlog.entries.file_ends import split_lines
from turnlog.entries.layout import SessionFile, is_missing, list_project_folders, list_project_sessions
from turnlog.entries.peek import complete_titles, peek_safely
from turnlog.entries.reader import scan_lines
from turnlog.entries.tail import Checkpoint, read_tail
from turnlog.entries.titles import SessionTitles
from turnlog.live.activity import Activity
from turnlog.live.file_stream import find_last_checkpoint, read_activity
from turnlog.live.states import BoardColumn, SessionSigns, SessionState, choose_column, judge_state

HOT_INTERVAL_SECONDS, WARM_INTERVAL_SECONDS, COLD_INTERVAL_SECONDS = 0.0, 3.0, 15.0
"""Seconds between two checks of a file."""
_HOT_AGE_SECONDS = 300.0
_SETTLED_AGE_SECONDS = 2400.0
_FOLDER_CHECK_SECONDS = 1.0
_DAY_SECONDS = 86400.0
_PROCESS_CHECK_SECONDS = 1.0
"""How often processes and sub-agents are checked."""


class BoardRow(Struct, frozen=True):
    """A session on the board."""

    path: str
    session_id: str
    title: str
    project: str
    git_branch: str | None
    column: BoardColumn
    state: SessionState
    written: float
    """When one of its files was last written, in seconds since 1970."""


class _WatchedSession:
    """A session file that is watched."""

    def __init__(self, file: SessionFile) -> None:
        self.file = file
        self.written = file.mtime_ns / 1e9
        self.next = 0.0
        self.checkpoint: Checkpoint | None = None
        self.fold = Activity()
        self.titles = SessionTitles()
        self.cwd = ""
        self.is_junk = False
        self.agents_written = 0.0
        self.summary_written = 0.0
        self._agents_next = 0.0
        self.row: BoardRow | None = None
        self.judged = float("-inf")
        """When the row was built."""

    def read_new_lines(self) -> None:
        """Read what was added."""
        if self.checkpoint is None:
            self._start_at_end()
            return
        tail = read_tail(self.file.file, self.checkpoint)
        if tail.reset:
            self.checkpoint = None
            if tail.reset != "missing":
                self._start_at_end()
            return
        self.checkpoint = tail.checkpoint
        self.fold.add_all(scan_lines(split_lines(tail.data), tail.start))

    def _start_at_end(self) -> None:
        path = self.file.path
        self.checkpoint = find_last_checkpoint(path)
        self.fold = read_activity(path, self.checkpoint.offset, is_agent=False)
        ends = peek_safely(self.file.file)
        self.is_junk = bool(ends.junk) or ends.is_sidechain
        self.titles, self.cwd = complete_titles(self.file.file, ends), ends.cwd or ""

    @property
    def title(self) -> str:
        """Its title, including changes since it was first read."""
        titles = replace(
            self.titles,
            custom=self.fold.custom_title or self.titles.custom,
            ai=self.fold.ai_title or self.titles.ai,
        )
        return titles.best or self.fold.prompt

    def check_agent_times(self, now: float) -> None:
        """Check when its sub-agents were last written, if any may be working."""
        if now < self._agents_next:
            return
        self._agents_next = now + _PROCESS_CHECK_SECONDS
        for agent in list_agent_files(self.file.path, {}):
            written = _read_mtime(agent.path)
            if agent.kind == "compact":
                self.summary_written = max(self.summary_written, written)
            else:
                self.agents_written = max(self.agents_written, written)


class Board:
    """The sessions of some config folders."""

    def __init__(self, config_dirs: Iterable[Path]) -> None:
        self._config_dirs = list(config_dirs)
        self._watched: dict[str, _WatchedSession] = {}
        self._folders: dict[str, int] = {}
        self._clients: dict[str, Client] = {}
        self._listed_at = self._folders_checked_at = self._clients_checked_at = float("-inf")
        self.rows: dict[str, BoardRow] = {}

    @property
    def size(self) -> int:
        """How many files are followed."""
        return len(self._watched)

    def poll(self) -> list[BoardRow | str]:
        """Return what has changed: rows that are new or different, and the paths of rows that are gone."""
        mono, now = time.monotonic(), time.time()
        self._find_sessions(mono)
        if mono - self._clients_checked_at >= _PROCESS_CHECK_SECONDS:
            self._clients_checked_at = mono
            self._clients = {
                client.session_id: client for folder in self._config_dirs for client in list_clients(folder)
            }
        for watched in list(self._watched.values()):
            self._visit_session(watched, mono, now)
        return self._update_rows(now)

    # -- finding files

    def _find_sessions(self, mono: float) -> None:
        everything = mono - self._listed_at >= COLD_INTERVAL_SECONDS
        if not everything and mono - self._folders_checked_at < _FOLDER_CHECK_SECONDS:
            return
        self._folders_checked_at = mono
        for config_dir in self._config_dirs:
            for folder in list_project_folders(config_dir):
                changed = _read_mtime_ns(folder)
                if everything or self._folders.get(str(folder)) != changed:
                    self._folders[str(folder)] = changed
                    self._list_folder(folder, config_dir)
        if everything:
            self._listed_at = mono

    def _list_folder(self, folder: Path, config_dir: Path) -> None:
        for file in list_project_sessions(folder, config_dir):
            watched = self._watched.get(file.file)
            if watched is None:
                watched = self._watched[file.file] = _WatchedSession(file)
            if file.mtime_ns / 1e9 != watched.written:
                watched.written, watched.next = file.mtime_ns / 1e9, 0.0

    # -- checking them

    def _visit_session(self, watched: _WatchedSession, mono: float, now: float) -> None:
        is_open = watched.file.session_id in self._clients
        age = now - watched.written
        if mono < watched.next or (age > _DAY_SECONDS and not is_open and watched.checkpoint is None):
            return
        watched.next = mono + (
            HOT_INTERVAL_SECONDS
            if age < _HOT_AGE_SECONDS
            else WARM_INTERVAL_SECONDS
            if age < _DAY_SECONDS or is_open
            else COLD_INTERVAL_SECONDS
        )
        try:
            written = os.stat(watched.file.file).st_mtime  # noqa: PTH116 - many files, many times
            if written != watched.written or watched.checkpoint is None or now - written < 2:
                watched.written = written
                watched.read_new_lines()
            if age < _HOT_AGE_SECONDS or watched.fold.tasks or watched.fold.calls:
                watched.check_agent_times(mono)
        except OSError:
            if is_missing(watched.file.file):  # otherwise it can't be read now, and its row is kept
                self._watched.pop(watched.file.file, None)

    def _update_rows(self, now: float) -> list[BoardRow | str]:
        midnight = _find_midnight(now)
        rows: dict[str, BoardRow] = {}
        for path, watched in self._watched.items():
            if watched.checkpoint is not None and not watched.is_junk:
                row = self._refresh_row(watched, now)
                if row.column != "ended" or row.written >= midnight:
                    rows[path] = row
        changed: list[BoardRow | str] = [row for path, row in rows.items() if self.rows.get(path) != row]
        changed += [path for path in self.rows if path not in rows]
        self.rows = rows
        return changed

    def _refresh_row(self, watched: _WatchedSession, now: float) -> BoardRow:
        """Return the row of a session; that of an old session only changes with time, so it is rebuilt less often."""
        latest = max(watched.written, watched.agents_written, watched.summary_written)
        is_old = now - latest > _SETTLED_AGE_SECONDS and watched.file.session_id not in self._clients
        if watched.row is None or not is_old or now - watched.judged > COLD_INTERVAL_SECONDS or watched.judged < latest:
            watched.row, watched.judged = self._build_row(watched, now), now
        return watched.row

    def _build_row(self, watched: _WatchedSession, now: float) -> BoardRow:
        file, fold = watched.file, watched.fold
        client = self._clients.get(file.session_id)
        written = max(watched.written, watched.agents_written)
        signs = SessionSigns(
            datetime.fromtimestamp(max(written, watched.summary_written), UTC),
            client is not None and client.is_here,
            client.status if client else None,
            client.waiting_for if client else None,
            watched.summary_written > written and now - watched.summary_written < 60,
        )
        time_now = datetime.fromtimestamp(now, UTC)
        state = judge_state(fold, time_now, signs)
        return BoardRow(
            file.file,
            file.session_id,
            watched.title,
            fold.cwd or watched.cwd or file.project_dir.name,
            fold.git_branch,
            choose_column(state, time_now, signs),
            state,
            written,
        )


def _find_midnight(now: float) -> float:
    """Return when today started, in local time."""
    return datetime.fromtimestamp(now).astimezone().replace(hour=0, minute=0, second=0, microsecond=0).timestamp()


def _read_mtime_ns(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


def _read_mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
