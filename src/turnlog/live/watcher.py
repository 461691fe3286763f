"""Watches sessions, and returns what happens in them as events.

    watcher = Watcher(config_dirs)           every session, starting now
    watcher.poll()                           the events since the last poll
    watcher.list_rows()                      what each session is doing (`board`)

`Board` finds the files. Each file has an `EventStream`: a file that exists at the start is followed from its end, a new
one from its start. Three kinds of event are not in any file, and are found by comparing a session's state with its
previous state: `permission-wait`, `idle` and `session-end`.

Watching hundreds of silent files costs one `stat` each per poll; files beyond the latest 500 are checked in turn. New
sub-agents are looked for only while their session is active. Folds are released when a file has been silent for a
while.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from heapq import nlargest
from operator import attrgetter
from pathlib import Path
from typing import Any

from turnlog.entries.agents import list_agent_files
from turnlog.entries.layout import SessionFile
from turnlog.live.board import Board, BoardRow
from turnlog.live.client_watch import Clock, SystemClock
from turnlog.live.crew import SHOWN_AGENT_KINDS, AgentCrew, CrewMember
from turnlog.live.event_stream import EventStream, iter_events_before, to_iso_seconds
from turnlog.live.events.event import (
    MAIN_ACTOR,
    AnyEvent,
    PermissionAwaited,
    SessionEnded,
    WentIdle,
)
from turnlog.live.events.fold import to_actor
from turnlog.live.hook_reports import HookReports
from turnlog.live.processes import Processes

_BUSY_PAUSE_SECONDS, _QUIET_PAUSE_SECONDS = 0.1, 0.2
_QUIET_AFTER_SECONDS = 10.0
STATE_POLL_SECONDS = 1.0
"""How often states are checked while nothing is written and no session works or waits."""
_BUSY_STATE_POLL_SECONDS = 0.3
_MAX_RECENT_FILES = 500
_ROTATION_FILES = 150
"""How many of the other files are checked in each poll."""
_RECENT_SORT_SECONDS = 10.0
_HISTORY_SECONDS = 300.0
"""Older entries in a new file are a copied history, not events: a fork, a clone, a restored session."""
_REST_AFTER_SECONDS = 300.0
_CREW_POLL_SECONDS, _QUIET_CREW_POLL_SECONDS = 0.3, 1.0
_MAX_GONE_FILES = 256
_ACTIVE_COLUMNS = ("needs", "working")


class _AwakeSession:
    """A session that may start sub-agents, or whose sub-agents may be working."""

    def __init__(self, file: str, session: str, known_at: float) -> None:
        self.file = file
        self.session = session
        self.crew = AgentCrew(Path(file))
        self.known_at = known_at
        """All sub-agents that were written before this time are known, or were there at the start."""
        self.next_check = 0.0
        self.changed_at = 0.0


class Watcher:
    """Follows all sessions of some config folders, or some sessions, each with its sub-agents."""

    def __init__(
        self,
        config_dirs: Iterable[Path],
        sessions: Collection[Path] | None = None,
        *,
        since: datetime | None = None,
        accepts: Callable[[BoardRow], bool] | None = None,
        clock: Clock | None = None,
        processes: Processes | None = None,
        reports: HookReports | None = None,
    ) -> None:
        """Watch from now on, or from an earlier time; `accepts` selects the sessions."""
        self._clock = clock or SystemClock()
        self.board = Board(config_dirs, self._clock, processes, reports=reports, only=sessions)
        self._accepts = accepts
        self._is_limited = sessions is not None
        self._started_at = self._clock.now()
        self._since = None if since is None else since.timestamp()
        self._streams: dict[str, EventStream] = {}
        self._owners: dict[str, str] = {}
        """The session file of each sub-agent's file."""
        self._awake: dict[str, _AwakeSession] = {}
        self._known_at: dict[str, float] = {}
        """Up to when the sub-agents of sessions that fell asleep are known."""
        self._mains: dict[str, str] = {}
        """The file of each session where it was seen last, by session id."""
        self._gone: dict[str, EventStream] = {}
        """The streams of files that were deleted, in case they come back."""
        self._recent: list[EventStream] = []
        self._others: list[EventStream] = []
        self._rotation = 0
        self._sorted_at = self._polled_at = float("-inf")
        self._has_listed = self._has_changed = False
        self._is_first_poll = True
        self._changed_at = self._clock.monotonic()
        self._rows: dict[str, BoardRow] = {}

    @property
    def pause_seconds(self) -> float:
        """How long to wait until the next poll: shorter while something happens."""
        is_quiet = self._clock.monotonic() - self._changed_at > _QUIET_AFTER_SECONDS
        return _QUIET_PAUSE_SECONDS if is_quiet else _BUSY_PAUSE_SECONDS

    @property
    def size(self) -> int:
        """How many files are followed."""
        return len(self._streams)

    def list_rows(self) -> list[BoardRow]:
        """Return what the watched sessions are doing."""
        return [row for row in self.board.rows.values() if self._is_accepted(row)]

    @property
    def judged_at(self) -> float:
        """When the states of the sessions were last judged, as the clock's monotonic time."""
        return self._polled_at

    def get_monotonic_time(self) -> float:
        """Return the time of the clock by which states are judged."""
        return self._clock.monotonic()

    def list_agents(self, file: str) -> list[CrewMember]:
        """Return the sub-agents of a recently active session."""
        awake = self._awake.get(file)
        return list(awake.crew.members.values()) if awake else []

    def find_offset(self, file: str) -> int:
        """Return up to where the events of a file have been returned or skipped; 0 if it is not followed."""
        stream = self._streams.get(file)
        return 0 if stream is None else stream.offset

    def read_history(self, file: str, count: int) -> list[AnyEvent]:
        """Return the last events of a session before those that `poll` returns."""
        stream = self._streams.get(file)
        if stream is None:
            return []
        actors = {file: MAIN_ACTOR} | {
            str(agent.path): to_actor(agent.agent_id)
            for agent in list_agent_files(file)
            if agent.kind in SHOWN_AGENT_KINDS
        }
        parts: list[list[AnyEvent]] = []
        for name, actor in actors.items():
            known = self._streams.get(name)
            events = iter_events_before(name, stream.session, actor, None if known is None else known.offset)
            parts.append(list(deque(events, count)))
        return _merge_events(parts)[-count:] if count else []

    def poll(self) -> list[AnyEvent]:
        """Return what has happened since the last poll."""
        mono, now = self._clock.monotonic(), self._clock.now()
        changes = self._poll_board(mono, now)
        parts = [self._read_stream(stream, status, now) for stream, status in self._find_written(mono)]
        parts += self._poll_agents(mono, now)
        parts = [part for part in parts if part]
        self._has_changed = bool(parts)
        if parts:
            self._changed_at = mono
        events = parts[0] if len(parts) == 1 else _merge_events(parts)
        events += [event for change in changes for event in self._compare_state(change, now)]
        self._is_first_poll = False
        return events

    # -- finding files

    def _poll_board(self, mono: float, now: float) -> list[BoardRow | str]:
        is_busy = self._has_changed or any(row.column in _ACTIVE_COLUMNS for row in self.board.rows.values())
        pause = _BUSY_STATE_POLL_SECONDS if is_busy else STATE_POLL_SECONDS
        if mono - self._polled_at < pause:
            return []
        self._polled_at = mono
        changes = self.board.poll()
        for file in self.board.list_files():
            if file.file not in self._streams:
                self._add_session(file, now)
        self._has_listed = True
        for row in changes:
            if isinstance(row, BoardRow) and row.column in _ACTIVE_COLUMNS:
                self._wake_session(row.path, row.session_id, now)
        if mono - self._sorted_at > _RECENT_SORT_SECONDS:
            self._sorted_at = mono
            self._sort_streams()
            self._let_sleep(now)
        return changes

    def _add_session(self, file: SessionFile, now: float) -> None:
        moved = self._find_moved_stream(file)
        if file.file in self._gone:
            stream = self._gone.pop(file.file)
        elif moved is not None:
            stream = moved
            stream.file = file.file
        elif self._has_listed:
            begin = now - _HISTORY_SECONDS
            stream = EventStream.from_start(file.file, file.session_id, MAIN_ACTOR, to_iso_seconds(begin))
            self._known_at[file.file] = begin
        elif self._since is not None and (self._is_limited or file.mtime_ns / 1e9 >= self._since):
            stream = EventStream.from_start(file.file, file.session_id, MAIN_ACTOR, to_iso_seconds(self._since))
            self._wake_session(file.file, file.session_id, now)
        else:
            stream = EventStream.from_end(file.file, file.session_id, MAIN_ACTOR, file.size, to_iso_seconds(now))
            stream.signature = (file.size, file.mtime_ns, 0)
        stream.changed_at = file.mtime_ns / 1e9
        self._streams[file.file] = stream
        self._recent.append(stream)

    def _find_moved_stream(self, file: SessionFile) -> EventStream | None:
        """Return the stream of a session whose file was moved here; what was read of it is known already."""
        known = self._mains.get(file.session_id)
        self._mains[file.session_id] = file.file
        if known is None or known == file.file or os.path.lexists(known):
            return None
        if (stream := self._streams.get(known)) is not None:
            self._forget_stream(stream)
        return self._gone.pop(known, None)

    def _has_moved(self, row: BoardRow) -> bool:
        """Return whether a session's file is gone from its place because it was moved to another."""
        place = self._mains.get(row.session_id, row.path)
        return place != row.path and os.path.lexists(place)

    def _sort_streams(self) -> None:
        """Choose the files that are checked in every poll: those that were written last."""
        streams = list(self._streams.values())
        if len(streams) <= _MAX_RECENT_FILES:
            self._recent, self._others = streams, []
            return
        self._recent = nlargest(_MAX_RECENT_FILES, streams, key=attrgetter("changed_at"))
        chosen = set(map(id, self._recent))
        self._others = [stream for stream in streams if id(stream) not in chosen]

    # -- reading them

    def _find_written(self, mono: float) -> list[tuple[EventStream, os.stat_result | None]]:
        """Return the files that have changed, each with its status, or with None if it is gone."""
        found: list[tuple[EventStream, os.stat_result | None]] = []
        due: Sequence[EventStream] = self._recent
        if self._others:
            turn = self._others[self._rotation : self._rotation + _ROTATION_FILES]
            self._rotation = self._rotation + _ROTATION_FILES if turn else 0
            due = [*self._recent, *turn]
        stat = os.stat
        for stream in due:
            try:
                status = stat(stream.file)
            except OSError:
                found.append((stream, None))
                continue
            known = stream.signature
            if (
                known is None
                or status.st_mtime_ns != known[1]
                or status.st_size != known[0]
                or (known[2] and status.st_ino != known[2])
            ):
                found.append((stream, status))
        return found

    def _read_stream(self, stream: EventStream, status: os.stat_result | None, now: float) -> list[AnyEvent]:
        owner = self._owners.get(stream.file, stream.file)
        if self._accepts is not None and not self._is_chosen(owner):
            return []
        try:
            if status is None:
                raise FileNotFoundError(stream.file)
            events = stream.read_events((status.st_size, status.st_mtime_ns, status.st_ino), now)
        except FileNotFoundError:
            self._forget_stream(stream)
            return []
        except OSError:
            return []  # it can't be read now, so it is tried again
        if stream.changed_at == now:
            self._wake_session(owner, stream.session, now)
            self._awake[owner].changed_at = now
        return events

    def _is_chosen(self, owner: str) -> bool:
        row = self.board.rows.get(owner)
        return row is not None and self._is_accepted(row)

    def _is_accepted(self, row: BoardRow) -> bool:
        return self._accepts is None or self._accepts(row)

    def _forget_stream(self, stream: EventStream) -> None:
        stream.release()
        stream.signature = None
        self._gone[stream.file] = stream
        if len(self._gone) > _MAX_GONE_FILES:
            del self._gone[next(iter(self._gone))]
        self._streams.pop(stream.file, None)
        self._owners.pop(stream.file, None)
        self._awake.pop(stream.file, None)
        self._recent = [other for other in self._recent if other is not stream]
        self._others = [other for other in self._others if other is not stream]

    # -- sub-agents

    def _wake_session(self, file: str, session: str, now: float) -> None:
        if file not in self._awake:
            before = self._started_at if self._since is None else self._since
            self._awake[file] = _AwakeSession(file, session, self._known_at.pop(file, before))
            self._awake[file].changed_at = now

    def _let_sleep(self, now: float) -> None:
        """Release what silent sessions keep in memory."""
        for stream in self._streams.values():
            if stream.is_loaded and now - stream.changed_at > _REST_AFTER_SECONDS:
                stream.release()
        for file, awake in list(self._awake.items()):
            row = self.board.rows.get(file)
            is_active = row is not None and row.column in _ACTIVE_COLUMNS
            if now - awake.changed_at > _REST_AFTER_SECONDS and not is_active:
                self._known_at[file] = awake.known_at
                del self._awake[file]

    def _poll_agents(self, mono: float, now: float) -> list[list[AnyEvent]]:
        """Look for new sub-agents, and read what they have written."""
        parts: list[list[AnyEvent]] = []
        for awake in list(self._awake.values()):
            if mono < awake.next_check and awake.changed_at != now:
                continue
            is_quiet = now - awake.changed_at > _REST_AFTER_SECONDS / 10
            awake.next_check = mono + (_QUIET_CREW_POLL_SECONDS if is_quiet else _CREW_POLL_SECONDS)
            for member in awake.crew.find_new_members():
                file = str(member.path)
                if file not in self._streams:
                    parts.append(self._add_agent(awake, member, file, now))
            awake.known_at = now
        return parts

    def _add_agent(self, awake: _AwakeSession, member: CrewMember, file: str, now: float) -> list[AnyEvent]:
        try:
            status = member.path.stat()
        except OSError:
            return []
        actor = to_actor(member.agent_id)
        if status.st_mtime < awake.known_at:
            stream = EventStream.from_end(file, awake.session, actor, status.st_size, to_iso_seconds(now))
            stream.signature = (status.st_size, status.st_mtime_ns, status.st_ino)
        else:
            stream = EventStream.from_start(file, awake.session, actor, to_iso_seconds(awake.known_at))
        stream.changed_at = status.st_mtime
        self._streams[file], self._owners[file] = stream, awake.file
        self._recent.append(stream)
        return [] if stream.signature else self._read_stream(stream, status, now)

    # -- states

    def _compare_state(self, change: BoardRow | str, now: float) -> list[AnyEvent]:
        """Return the events that follow from a session's state and are not in its transcript."""
        if isinstance(change, str):
            before = self._rows.pop(change, None)
            if before is None or before.column == "ended" or self._has_moved(before):
                return []
            reason = "nothing was written for a long time" if change in self._streams else "its file was deleted"
            return [SessionEnded(session=before.session_id, time=to_iso_seconds(now), reason=reason)]
        before = self._rows.get(change.path)
        self._rows[change.path] = change
        if self._is_first_poll or not self._is_accepted(change):
            return []
        return _describe_change(before, change, now)


def _describe_change(before: BoardRow | None, row: BoardRow, now: float) -> list[AnyEvent]:
    """Compare a session's state with its previous state, which is None if the session has just appeared."""
    state = row.state
    place: dict[str, Any] = {
        "session": row.session_id,
        "time": to_iso_seconds(now),
        "confidence": state.confidence,
    }
    events: list[AnyEvent] = []
    known = None if before is None else (before.state.kind, before.state.since)
    if state.kind == "permission" and known != (state.kind, state.since):
        tool = state.tools[0] if state.tools else ""
        events.append(PermissionAwaited(**place, tool=tool, title=state.words, reason=state.reason))
    if before is None:
        return events
    if row.column == "idle" and before.column in _ACTIVE_COLUMNS:
        events.append(WentIdle(**place, reason=state.reason))
    if row.column == "ended" and before.column != "ended":
        events.append(SessionEnded(**place, reason=state.reason))
    return events


def _merge_events(parts: Sequence[list[AnyEvent]]) -> list[AnyEvent]:
    """Merge the events of several files by time; those of one file keep their order."""
    keyed: list[tuple[str, AnyEvent]] = []
    for part in parts:
        latest = ""
        for event in part:
            latest = max(latest, event.time or "")
            keyed.append((latest, event))
    keyed.sort(key=lambda pair: pair[0])
    return [event for _, event in keyed]
