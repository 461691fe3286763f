"""All sessions of a machine that are at work, wait, or were at work today.

Thousands of files are followed with little effort: those that were written within the last minutes are looked at at
every poll, those of today every few seconds, all others only now and then, when the folders are listed anyway. A new
file shows at once, because its folder's own time changes. Of a file only the last lines are read when it is first seen,
and later what was added.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from turnlog.entries.agents import agent_files
from turnlog.entries.clients import Client, clients
from turnlog.entries.layout import SessionFile, is_missing, project_sessions, projects
from turnlog.entries.peeks import complete_titles, look
from turnlog.entries.reader import scan
from turnlog.entries.tail import Checkpoint, read_tail
from turnlog.entries.titles import Titles
from turnlog.entries.window import lines_of
from turnlog.live.fold import Fold
from turnlog.live.states import Column, Signs, State, column, state
from turnlog.live.stream import present, told

HOT, WARM, COLD = 0.0, 3.0, 15.0
"""Seconds between two looks at a file."""
_HOT_FOR = 300.0
_SETTLED = 2400.0
_FOLDERS = 1.0
_DAY = 86400.0
_PAUSE = 1.0
"""How often processes and sub-agents are looked at."""


class Row(Struct, frozen=True):
    """A session on the board."""

    path: str
    session_id: str
    title: str
    project: str
    git_branch: str | None
    column: Column
    state: State
    written: float
    """When one of its files was last written, in seconds since 1970."""


class _Watched:
    """A session file that is looked at."""

    def __init__(self, file: SessionFile) -> None:
        self.file = file
        self.written = file.mtime_ns / 1e9
        self.next = 0.0
        self.checkpoint: Checkpoint | None = None
        self.fold = Fold()
        self.titles = Titles()
        self.cwd = ""
        self.is_junk = False
        self.agents_written = 0.0
        self.summary_written = 0.0
        self._agents_next = 0.0
        self.row: Row | None = None
        self.judged = float("-inf")
        """When the row was made."""

    def read(self) -> None:
        """Take in what was added."""
        if self.checkpoint is None:
            self._begin()
            return
        tail = read_tail(self.file.file, self.checkpoint)
        if tail.reset:
            self.checkpoint = None
            if tail.reset != "missing":
                self._begin()
            return
        self.checkpoint = tail.checkpoint
        self.fold.add_all(scan(lines_of(tail.data), tail.start))

    def _begin(self) -> None:
        path = self.file.path
        self.checkpoint = present(path)
        self.fold = told(path, self.checkpoint.offset, is_agent=False)
        ends = look(self.file.file)
        self.is_junk = bool(ends.junk) or ends.is_sidechain
        self.titles, self.cwd = complete_titles(self.file.file, ends), ends.cwd or ""

    @property
    def title(self) -> str:
        """Its name, with what was added since it was first looked at."""
        told = replace(self.titles, custom=self.fold.given or self.titles.custom, ai=self.fold.made or self.titles.ai)
        return told.best or self.fold.prompt

    def look_at_agents(self, now: float) -> None:
        """See when its sub-agents were last written, if any may be at work."""
        if now < self._agents_next:
            return
        self._agents_next = now + _PAUSE
        for agent in agent_files(self.file.path, {}):
            written = _mtime(agent.path)
            if agent.kind == "compact":
                self.summary_written = max(self.summary_written, written)
            else:
                self.agents_written = max(self.agents_written, written)


class Board:
    """The sessions of some config folders."""

    def __init__(self, config_dirs: Iterable[Path]) -> None:
        self._config_dirs = list(config_dirs)
        self._watched: dict[str, _Watched] = {}
        self._folders: dict[str, int] = {}
        self._clients: dict[str, Client] = {}
        self._listed = self._looked = self._asked = float("-inf")
        self.rows: dict[str, Row] = {}

    @property
    def size(self) -> int:
        """How many files are followed."""
        return len(self._watched)

    def poll(self) -> list[Row | str]:
        """What has changed: rows that are new or other than before, and the paths of rows that are gone."""
        mono, now = time.monotonic(), time.time()
        self._find(mono)
        if mono - self._asked >= _PAUSE:
            self._asked = mono
            self._clients = {one.session_id: one for folder in self._config_dirs for one in clients(folder)}
        for watched in list(self._watched.values()):
            self._visit(watched, mono, now)
        return self._update(now)

    # -- finding files

    def _find(self, mono: float) -> None:
        everything = mono - self._listed >= COLD
        if not everything and mono - self._looked < _FOLDERS:
            return
        self._looked = mono
        for config_dir in self._config_dirs:
            for folder in projects(config_dir):
                changed = _time(folder)
                if everything or self._folders.get(str(folder)) != changed:
                    self._folders[str(folder)] = changed
                    self._list(folder, config_dir)
        if everything:
            self._listed = mono

    def _list(self, folder: Path, config_dir: Path) -> None:
        for file in project_sessions(folder, config_dir):
            watched = self._watched.get(file.file)
            if watched is None:
                watched = self._watched[file.file] = _Watched(file)
            if file.mtime_ns / 1e9 != watched.written:
                watched.written, watched.next = file.mtime_ns / 1e9, 0.0

    # -- looking at them

    def _visit(self, watched: _Watched, mono: float, now: float) -> None:
        is_open = watched.file.session_id in self._clients
        age = now - watched.written
        if mono < watched.next or (age > _DAY and not is_open and watched.checkpoint is None):
            return
        watched.next = mono + (HOT if age < _HOT_FOR else WARM if age < _DAY or is_open else COLD)
        try:
            written = os.stat(watched.file.file).st_mtime  # noqa: PTH116 - of many files, many times
            if written != watched.written or watched.checkpoint is None or now - written < 2:
                watched.written = written
                watched.read()
            if age < _HOT_FOR or watched.fold.tasks or watched.fold.calls:
                watched.look_at_agents(mono)
        except OSError:
            if is_missing(watched.file.file):  # else it can't be read now: its row stays as it was
                self._watched.pop(watched.file.file, None)

    def _update(self, now: float) -> list[Row | str]:
        midnight = _midnight(now)
        found: dict[str, Row] = {}
        for path, watched in self._watched.items():
            if watched.checkpoint is not None and not watched.is_junk:
                row = self._judged(watched, now)
                if row.column != "ended" or row.written >= midnight:
                    found[path] = row
        changed: list[Row | str] = [row for path, row in found.items() if self.rows.get(path) != row]
        changed += [path for path in self.rows if path not in found]
        self.rows = found
        return changed

    def _judged(self, watched: _Watched, now: float) -> Row:
        """The row of a session; one that was not written for long changes by time alone, and so not often."""
        latest = max(watched.written, watched.agents_written, watched.summary_written)
        is_old = now - latest > _SETTLED and watched.file.session_id not in self._clients
        if watched.row is None or not is_old or now - watched.judged > COLD or watched.judged < latest:
            watched.row, watched.judged = self._row(watched, now), now
        return watched.row

    def _row(self, watched: _Watched, now: float) -> Row:
        file, fold = watched.file, watched.fold
        client = self._clients.get(file.session_id)
        written = max(watched.written, watched.agents_written)
        signs = Signs(
            datetime.fromtimestamp(max(written, watched.summary_written), UTC),
            client is not None and client.is_here,
            client.status if client else None,
            client.waiting_for if client else None,
            watched.summary_written > written and now - watched.summary_written < 60,
        )
        moment = datetime.fromtimestamp(now, UTC)
        doing = state(fold, moment, signs)
        return Row(
            file.file,
            file.session_id,
            watched.title,
            fold.cwd or watched.cwd or file.project_dir.name,
            fold.git_branch,
            column(doing, moment, signs),
            doing,
            written,
        )


def _midnight(now: float) -> float:
    """When today began, where this machine is."""
    return datetime.fromtimestamp(now).astimezone().replace(hour=0, minute=0, second=0, microsecond=0).timestamp()


def _time(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


def _mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
