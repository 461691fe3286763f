"""Plays a recording to the board: real files in a temporary folder, with a clock and processes of its own."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.interop.live.state_recording import DOMAIN, ProcessSample, Recording
from turnlog.entries.clients import read_process_domain
from turnlog.live.board import Board, BoardRow
from turnlog.live.hook_reports import HookReports
from turnlog.live.processes import ChildProcess, ClientProcess, ProcessActivity, find_named_session
from turnlog.live.watcher import Watcher
from turnlog.quest.feed import QuestFeed
from turnlog.trace.hook import build_report

POLL_SECONDS = 0.2
"""The web app asks the board about as often."""


class ReplayClock:
    """The time of a recording."""

    def __init__(self, wall: float) -> None:
        self._wall = wall
        self.seconds = 0.0
        """Since the start of the recording."""

    def now(self) -> float:
        return self._wall + self.seconds

    def monotonic(self) -> float:
        return 1000.0 + self.seconds


class ReplayProcesses:
    """The processes of a recording at its present time."""

    def __init__(self, boot: float, config_dir: Path) -> None:
        self._boot, self._config_dir = boot, config_dir
        self._samples: dict[int, ProcessSample] = {}
        self.process_space = 1
        self._counts: dict[int, list[int]] = {}

    def apply_step(self, step: dict[str, Any]) -> None:
        if "processes" in step:
            self._samples = {sample.pid: sample for sample in (ProcessSample(*row) for row in step["processes"])}
        else:
            self._counts = {int(pid): counts for pid, counts in step["io"].items()}

    def is_alive(self, pid: int, start: object) -> bool:
        sample = self._samples.get(pid)
        return sample is not None and (not isinstance(start, str) or start == sample.start)

    def find_clients(self) -> list[ClientProcess] | None:
        """List the clients that no other client has started; an old one shows its arguments only while it starts."""
        clients = []
        for s in self._samples.values():
            words = s.command.split()
            if s.parent not in self._samples and (s.name == "claude" or words[:2] == ["node", "claude"]):
                started = self._boot + int(s.start) / 100
                named = find_named_session(words)
                clients.append(ClientProcess(s.pid, s.parent, s.start, started, s.cwd, self._config_dir, named))
        return clients

    def list_children(self, pid: int) -> list[ChildProcess] | None:
        children = [sample for sample in self._samples.values() if sample.parent == pid]
        return [ChildProcess(s.pid, s.command, self._boot + int(s.start) / 100) for s in children]

    def read_activity(self, pid: int) -> ProcessActivity | None:
        counts = self._counts.get(pid) if pid in self._samples else None
        return ProcessActivity(*counts) if counts else None


class BoardReading(NamedTuple):
    """The rows of the board at a time."""

    seconds: float
    rows: dict[str, BoardRow]
    """By session id."""


def replay(recording: Recording, poll_seconds: float = POLL_SECONDS) -> Iterator[BoardReading]:
    """Play a recording and read the board again and again."""
    end = max(interval.end for interval in recording.truth)
    with tempfile.TemporaryDirectory(prefix="replay-") as name:
        player = _Player(recording, Path(name))
        reports = HookReports(player.data_dir)
        board = Board([player.config_dir], clock=player.clock, processes=player.processes, reports=reports)
        while player.clock.seconds <= end:
            player.apply_steps()
            board.poll()
            yield BoardReading(player.clock.seconds, {row.session_id: row for row in board.rows.values()})
            player.clock.seconds += poll_seconds


class PartyReading(NamedTuple):
    """The board and the heroes of the quest at a time."""

    seconds: float
    rows: dict[str, BoardRow]
    heroes: dict[str, str]
    """What each hero does, by session id: works, waits, rests or stands; a session without a hero is missing."""


def replay_quest(recording: Recording, poll_seconds: float = 0.1) -> Iterator[PartyReading]:
    """Play a recording to the quest, and read its party again and again."""
    end = max(interval.end for interval in recording.truth)
    with tempfile.TemporaryDirectory(prefix="replay-") as name:
        player = _Player(recording, Path(name))
        reports = HookReports(player.data_dir)
        watcher = Watcher([player.config_dir], clock=player.clock, processes=player.processes, reports=reports)
        feed = QuestFeed(watcher)
        while player.clock.seconds <= end:
            player.apply_steps()
            feed.poll()
            rows = {row.session_id: row for row in watcher.list_rows()}
            heroes = {hero["session"]: read_hero(hero) for hero in feed.build_snapshot()["sessions"]}
            yield PartyReading(player.clock.seconds, rows, heroes)
            player.clock.seconds += poll_seconds


def read_hero(hero: dict[str, Any]) -> str:
    """Return what a hero of a snapshot does."""
    if hero["waiting"] or any(agent["waiting"] for agent in hero["agents"]):
        return "waits"
    return {"active": "works", "resting": "rests", "idle": "stands"}[hero["mode"]]


class _Player:
    """Writes what a recording says into a config folder."""

    def __init__(self, recording: Recording, base: Path) -> None:
        self.config_dir, self.data_dir = base / ".claude", base / "data"
        (self.config_dir / "projects").mkdir(parents=True)
        self.clock = ReplayClock(recording.wall)
        self.processes = ReplayProcesses(recording.boot, self.config_dir)
        self._wall, self._steps = recording.wall, list(reversed(recording.steps))
        (self.data_dir / "hook-reports").mkdir(parents=True)

    def apply_steps(self) -> None:
        """Do what has happened up to now."""
        while self._steps and self._steps[-1]["t"] <= self.clock.seconds:
            step = self._steps.pop()
            if "file" in step:
                self._change_file(step)
            elif "hook" in step:
                self._report(step)
            else:
                self.processes.apply_step(step)

    def _report(self, step: dict[str, Any]) -> None:
        """Append what our hook would have reported."""
        processes = [(pid, start) for pid, start in step.get("by", ())]
        line = build_report(step["hook"], self._wall + step["t"], processes, self.processes.process_space)
        with (self.data_dir / "hook-reports" / "2026-01-01.jsonl").open("ab") as file:
            file.write((line or b"") + b"\n")

    def _change_file(self, step: dict[str, Any]) -> None:
        path = self.config_dir / step["file"]
        if step.get("gone"):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        text = step["add"] if "add" in step else step["set"].replace(DOMAIN, read_process_domain() or "")
        with path.open("ab" if "add" in step else "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
        written = self._wall + step["t"]
        os.utime(path, (written, written))
