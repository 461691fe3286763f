"""One session that is watched: its file, its sub-agents' files, and the signs by which its state is judged.

The board and the page of one session both judge with this, so that they always agree. At first, only the last lines of
a file are read; later, only added lines.

The times in a transcript outrank those of its file, which a copy, a backup or a checkout changes.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from turnlog.entries.agents import list_agent_files
from turnlog.entries.file_ends import open_regular_file, read_at, split_lines
from turnlog.entries.layout import SessionFile
from turnlog.entries.peek import complete_titles, peek_safely
from turnlog.entries.reader import scan_lines
from turnlog.entries.tail import Checkpoint, read_tail
from turnlog.entries.titles import SessionTitles
from turnlog.live.activity import Activity, OpenCall
from turnlog.live.call_states import find_permission_reason, format_call
from turnlog.live.client_watch import ClientSign, ClientWatch
from turnlog.live.file_stream import find_last_checkpoint, read_activity
from turnlog.live.signs import SessionSigns
from turnlog.live.states import SessionState, judge_state
from turnlog.session.clock import parse_timestamp

_AGENTS_CHECK_SECONDS = 0.4
_MAX_SUMMARY_AGE_SECONDS = 60.0
_MAX_SKEW_SECONDS = 3600.0
"""How much the clock of the machine that writes a session may differ from ours."""
_EXACT_SECONDS = 5.0
"""A timestamp this close to our own time is used as it is."""
_UNSEEN_WRITER_SECONDS = 3.0
"""For how long a session must be written without a client in sight until we conclude that there is one elsewhere."""
_MAX_AGENTS = 200
"""How many sub-agents' files are read, the latest ones first."""
_TAIL_BYTES = (4 << 10, 32 << 10, 1 << 20)
"""How much of a file's end is read in search of its last timestamp; each time if the last part has none."""
_TIMESTAMP = re.compile(rb'"timestamp":\s*"(\d{4}-\d\d-\d\dT[0-9:.]{8,15}Z)"')


def read_last_time(path: str) -> float | None:
    """Return the last timestamp near the end of a file, in seconds since 1970; None if there is none."""
    try:
        fd, status = open_regular_file(path)
    except OSError:
        return None
    try:
        for tail_bytes in _TAIL_BYTES:
            start = max(status.st_size - tail_bytes, 0)
            if time := _find_last_time(read_at(fd, start, status.st_size - start)):
                return to_seconds(time.decode())
            if not start:
                break
    finally:
        os.close(fd)
    return None


def _find_last_time(data: bytes) -> bytes | None:
    """Find the last timestamp, from the end: a file may have thousands."""
    at = len(data)
    while (at := data.rfind(b'"timestamp"', 0, at)) >= 0:
        if match := _TIMESTAMP.match(data, at):
            return match[1]
    return None


def to_seconds(timestamp: str | None) -> float | None:
    time = parse_timestamp(timestamp)
    return time.timestamp() if time is not None else None


class _AgentTail:
    """The work in progress of a sub-agent."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.mtime_ns = -1
        self.checkpoint: Checkpoint | None = None
        self.fold = Activity(is_agent=True)
        self.activity = 0.0

    def read_new_lines(self, now: float) -> None:
        status = self.path.stat()
        if status.st_mtime_ns == self.mtime_ns and self.checkpoint is not None and self.checkpoint.mtime_ns:
            return
        self.mtime_ns = status.st_mtime_ns
        tail = read_tail(self.path, self.checkpoint) if self.checkpoint is not None else None
        if tail is None or tail.reset:
            self.checkpoint = find_last_checkpoint(self.path)
            self.fold = read_activity(self.path, self.checkpoint.offset, is_agent=True)
            self.activity = estimate_first_activity(self.fold, status.st_mtime, now)
        else:
            self.checkpoint = tail.checkpoint
            self.fold.add_all(scan_lines(split_lines(tail.data), tail.start))
            self.activity = estimate_activity(self.fold, self.activity, now) if tail.data else self.activity


def estimate_first_activity(fold: Activity, written: float, now: float) -> float:
    """Return when something last happened in a file that was not watched before."""
    heard = to_seconds(fold.heard)
    return min(written if heard is None or heard > now + _MAX_SKEW_SECONDS else heard, now)


def estimate_activity(fold: Activity, before: float, now: float) -> float:
    """Return when something last happened in a file that has just grown; lines without a time say nothing."""
    heard = to_seconds(fold.heard)
    if heard is None or abs(now - heard) > _MAX_SKEW_SECONDS:
        return max(before, min(heard or before, now))
    return heard if abs(now - heard) <= _EXACT_SECONDS else max(before, now)


class JudgedSession(NamedTuple):
    """A state, and the signs that it was judged by."""

    state: SessionState
    signs: SessionSigns


DELETED_SESSION = JudgedSession(
    SessionState("ended", "deleted", reason="its file was deleted"), SessionSigns(presence="ended")
)


def describe_session_file(path: Path) -> SessionFile:
    """Describe a session's file without looking at it."""
    return SessionFile(str(path), path.stem, path.parent, path.parent.parent.parent, 0, 0, is_symlink=False)


def judge_agent_state(fold: Activity, written: float, now: float, session: JudgedSession) -> SessionState:
    """Determine the state of a sub-agent; it ends with the client of its session."""
    signs = session.signs
    return judge_state(
        fold,
        _to_time(now),
        SessionSigns(
            written=_to_time(written),
            presence=signs.presence if signs.presence in ("ended", "left") else "unknown",
            is_presence_sure=signs.is_presence_sure,
            children=signs.children if signs.status is None else None,
            childless_seconds=signs.childless_seconds,
            screen=signs.screen,
        ),
    )


class SessionWatch:
    """A session that is watched."""

    def __init__(self, file: SessionFile) -> None:
        self.file = file
        self.written = file.mtime_ns / 1e9
        """When its file was last written."""
        self.checkpoint: Checkpoint | None = None
        self.fold = Activity()
        self.titles = SessionTitles()
        self.cwd = ""
        self.is_junk = False
        """Whether it has no conversation so far; it may get one."""
        self.is_blank = False
        """Whether it is junk only because it has no message yet."""
        self.has_unseen_writer = False
        """Whether it was written although no client was seen: the client runs where we can't see it."""
        self.activity: float | None = None
        """When something last happened in its own file, in seconds since 1970."""
        self._judged_activity: float | None = None
        self._first_unseen_write: float | None = None
        self._agents: dict[Path, _AgentTail] = {}
        self._summary_written = 0.0
        self._suggestions: dict[Path, float] = {}
        """When the client's suggestions for the next prompt were first seen to be written."""
        self._agents_next = 0.0
        self._size = -1

    # -- reading

    def read_new_lines(self, now: float) -> bool:
        """Read what was added; return whether the file has changed; raise OSError if it can't be read."""
        status = os.stat(self.file.file)  # noqa: PTH116 - many files, many times
        has_changed = status.st_mtime != self.written or status.st_size != self._size
        if not has_changed and self.checkpoint is not None and self.checkpoint.mtime_ns:
            return False
        self.written, self._size = status.st_mtime, status.st_size
        tail = read_tail(self.file.file, self.checkpoint) if self.checkpoint is not None else None
        if tail is None or tail.reset:
            self.checkpoint = None
            if tail is not None and tail.reset == "missing":
                raise FileNotFoundError(self.file.file)
            self._start_at_end(now)
            return True
        self.checkpoint = tail.checkpoint
        if tail.data:
            self.fold.add_all(scan_lines(split_lines(tail.data), tail.start))
            self.activity = estimate_activity(self.fold, self.activity or 0.0, now)
            if self.is_junk:
                self._read_ends()
        return bool(tail.data)

    def _start_at_end(self, now: float) -> None:
        path = self.file.path
        self.checkpoint = find_last_checkpoint(path)
        self.fold = read_activity(path, self.checkpoint.offset, is_agent=False)
        self.activity = estimate_first_activity(self.fold, self.written, now)
        self._read_ends()

    def _read_ends(self) -> None:
        ends = peek_safely(self.file.file)
        self.is_junk = bool(ends.junk) or ends.is_sidechain
        self.is_blank = ends.junk in ("empty", "metadata-only")
        if not self.is_junk:
            self.titles, self.cwd = complete_titles(self.file.file, ends), ends.cwd or ""

    def read_agents(self, now: float, mono: float) -> None:
        """Read what its sub-agents added, at most a few times a second."""
        if mono < self._agents_next:
            return
        self._agents_next = mono + _AGENTS_CHECK_SECONDS
        if not self._agents and not os.path.isdir(self.file.file.removesuffix(".jsonl")):  # noqa: PTH112 - every second
            return
        files = [agent for agent in list_agent_files(self.file.path, {}) if agent.path.exists()]
        summaries = [_read_mtime(agent.path) for agent in files if agent.kind == "compact"]
        self._summary_written = max([self._summary_written, *summaries])
        for agent in files:
            if agent.kind == "prompt_suggestion" and agent.path not in self._suggestions:
                self._suggestions[agent.path] = _read_mtime(agent.path)
        paths = [agent.path for agent in files if agent.kind not in ("compact", "prompt_suggestion")]
        for path in sorted(paths, key=_read_mtime)[-_MAX_AGENTS:]:
            try:
                self._agents.setdefault(path, _AgentTail(path)).read_new_lines(now)
            except OSError:
                self._agents.pop(path, None)

    @property
    def has_open_work(self) -> bool:
        """Whether sub-agents may be working."""
        return bool(self.fold.tasks or self.fold.calls)

    # -- what is known

    @property
    def title(self) -> str:
        """Its title, including changes since it was first read."""
        titles = replace(
            self.titles,
            custom=self.fold.custom_title or self.titles.custom,
            ai=self.fold.ai_title or self.titles.ai,
        )
        return titles.best or self.fold.prompt

    @property
    def last_activity(self) -> float:
        """When something last happened in any of its files, in seconds since 1970."""
        return max([self.activity or 0.0, *(agent.activity for agent in self._agents.values())])

    def judge(self, now: float, clients: ClientWatch) -> JudgedSession:
        """Determine its state."""
        client = clients.find_client(self.file, self.last_activity or None, self.has_unseen_writer)
        self._note_writer(now, is_open=client.pid is not None or bool(client.client and not client.client.is_dead))
        signs = self._gather_signs(now, client, clients)
        return JudgedSession(judge_state(self.fold, _to_time(now), signs), signs)

    def _note_writer(self, now: float, *, is_open: bool) -> None:
        """Note if the session is written although no client is seen."""
        has_grown = self._judged_activity is not None and self.activity != self._judged_activity
        self._judged_activity = self.activity
        if is_open:
            self.has_unseen_writer, self._first_unseen_write = False, None
        elif has_grown and self._first_unseen_write is None:
            self._first_unseen_write = now
        elif has_grown and now - (self._first_unseen_write or now) > _UNSEEN_WRITER_SECONDS:
            self.has_unseen_writer = True

    def _gather_signs(self, now: float, found: ClientSign, clients: ClientWatch) -> SessionSigns:
        client, agents = found.client, [agent.activity for agent in self._agents.values()]
        signs = SessionSigns(
            written=_to_time(self.activity) if self.activity else None,
            is_open=found.presence == "open",
            status=client.status if client else None,
            waiting_for=client.waiting_for if client else None,
            is_compacting=self._is_summarising(now),
            status_time=_to_time(client.status_time) if client and client.status_time else None,
            presence=found.presence,
            is_presence_sure=found.is_sure,
            agents_written=_to_time(max(agents)) if agents else None,
            client_started=_to_time(found.started) if found.started is not None else None,
            client_process=found.process,
            agent_calls=self._list_agent_calls(),
            has_suggestion=max(self._suggestions.values(), default=0.0) > self.written,
            hook=clients.find_hook(self.file.path),
            typed=clients.find_typed_command(self.file.session_id),
        )
        if found.pid is None:
            return signs
        screen = clients.activities.read_screen(found.pid) if client is None else None
        signs = replace(
            signs,
            children=clients.activities.list_children(found.pid),
            childless_seconds=clients.activities.measure_childless(found.pid),
            screen=screen,
        )
        return replace(signs, waiting_agent=self._find_waiting_agent(now, signs))

    def _list_agent_calls(self) -> tuple[OpenCall, ...] | None:
        if not self._agents:
            return None
        return tuple(call for agent in self._agents.values() for call in agent.fold.calls.values())

    def _is_summarising(self, now: float) -> bool:
        age = now - self._summary_written
        return self._summary_written > max(self.written, 0.0) and age < _MAX_SUMMARY_AGE_SECONDS

    def _find_waiting_agent(self, now: float, signs: SessionSigns) -> str:
        """Return the call that a sub-agent seems to wait for."""
        for agent in self._agents.values() if self.has_open_work else ():
            if now - agent.activity > _MAX_SKEW_SECONDS:
                continue
            for call in agent.fold.calls.values():
                quiet = _to_time(now) - _to_time(agent.activity)
                if find_permission_reason(call, self.fold.mode, _to_time(now), quiet, signs):
                    return format_call(call)
        return ""


def _to_time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _read_mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
