"""Which client has which session open, and what that client is doing; checked at most once a second.

    registered    newer clients name their session in `<config>/sessions/<pid>.json` (`entries.clients`): certain
    unregistered  old clients register nothing. Their process shows its working folder: the sessions of that folder
                  that were written since it started are its own, the latest one first. This is an inference

A session that had a client and has none any more has ended; one whose client now has a different session was left.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.clients import Client, list_registrations
from turnlog.entries.layout import SessionFile, list_project_sessions
from turnlog.entries.slug import make_slug
from turnlog.live.hook_reports import HookReport, HookReports, find_hook_sign
from turnlog.live.process_watch import Clock, ProcessWatch, SystemClock
from turnlog.live.processes import ClientProcess, ProcessActivity, Processes, open_processes
from turnlog.live.reported_clients import ReportedClients
from turnlog.live.signs import HookSign, Presence, ProcessKey, to_process_key
from turnlog.live.typed_commands import TypedCommand, TypedCommands

__all__ = ["ClientSign", "ClientWatch", "Clock", "SystemClock", "read_mtime_ns"]

CHECK_SECONDS = 1.0
"""Between two looks at the processes."""
_REPORT_SECONDS = 0.15
"""Between two looks at the registrations, which are few and small."""
_SLACK_SECONDS = 2.0
"""How much earlier than the start of its client a session may have been written."""
_MAX_EXIT_SECONDS = 5.0
"""How long a client may take to exit after it has removed its registration."""
_UNSEEN_AFTER_SECONDS = 10.0
"""A session without a client counts as open if it was written within this time: the client may be invisible."""
_MAX_BLANK_BYTES = 16 << 10


class ClientSign(NamedTuple):
    """What is known about the client of a session."""

    presence: Presence = "unknown"
    is_sure: bool = False
    client: Client | None = None
    """Its registration, which a killed client leaves behind."""
    pid: int | None = None
    """Its process; None if it is not on this machine, or unknown."""
    started: float | None = None
    """When an unregistered client started, in seconds since 1970."""
    start: str | None = None
    """The same in clock ticks since boot."""
    departure: float = 0.0
    """When the session was first seen without its client, in seconds since 1970."""

    @property
    def process(self) -> ProcessKey | None:
        """The client's process on this machine; None if unknown."""
        start = self.start or (self.client.start if self.client is not None else None)
        return to_process_key(self.pid, start) if self.pid is not None else None


_UNKNOWN = ClientSign()


class _Seat:
    """An unregistered client, and the session that it seems to have open."""

    def __init__(self, process: ClientProcess) -> None:
        self.process = process
        self.session_id: str | None = None
        self.is_reported = False
        """Whether a hook of this client named the session."""
        self.folders: list[Path] | None = None
        """The project folders whose sessions it may have open."""
        self.written_bytes = 0
        self.growth: int | None = None
        """How many bytes it wrote between the last two looks."""

    @property
    def key(self) -> ProcessKey | None:
        """The process as hooks report it."""
        return to_process_key(self.process.pid, self.process.start)

    def measure_growth(self, activity: ProcessActivity | None) -> None:
        before = self.written_bytes
        self.written_bytes = activity.written_bytes if activity is not None else 0
        self.growth = self.written_bytes - before if before and self.written_bytes else None


class ClientWatch:
    """The clients of some config folders."""

    def __init__(
        self,
        config_dirs: Iterable[Path],
        clock: Clock | None = None,
        processes: Processes | None = None,
        reports: HookReports | None = None,
    ) -> None:
        self._config_dirs = list(config_dirs)
        self._real_dirs = {folder: os.path.realpath(folder) for folder in self._config_dirs}
        self._clock = clock or SystemClock()
        self._processes = processes or open_processes()
        self._next = self._next_report = float("-inf")
        self._registered: dict[str, Client] = {}
        self._registered_processes: set[tuple[int, str | None]] = set()
        """The processes that ever registered; while they exit, they must not pass for old clients."""
        self._exits: dict[int, float] = {}
        """When running clients were first seen without their registrations."""
        self._departed: dict[str, ClientSign] = {}
        """The sessions that had a client."""
        self._seats: dict[tuple[int, str], _Seat] = {}
        self._written: dict[str, tuple[int, int]] = {}
        """When the sessions in the folders of unregistered clients were last written, and their sizes."""
        self._is_visible = False
        self.activities = ProcessWatch(self._clock, self._processes)
        self._reports = reports
        self._reported = ReportedClients(self._processes.process_space)
        self._typed = TypedCommands(self._config_dirs)
        self._lock = threading.RLock()
        self._folder_times: dict[Path, int] = {}

    def poll(self) -> None:
        """Look at registrations and processes again, unless that was done just now."""
        mono = self._clock.monotonic()
        with self._lock:
            if mono >= self._next_report:
                self._next_report = mono + _REPORT_SECONDS
                self._update_registered(self._read_registrations())
                if self._reports is not None:
                    self._note_reports(self._reports.poll())
                self._typed.poll()
                if self._has_seat_changed():
                    self._next = mono
            if mono >= self._next:
                self._next = mono + CHECK_SECONDS
                self._look_at_processes()

    def _read_registrations(self) -> list[Client]:
        return [
            client for folder in self._config_dirs for client in list_registrations(folder, self._processes.is_alive)
        ]

    def _look_at_processes(self) -> None:
        registered = {client.pid for client in self._registered.values() if client.is_here}
        self._update_seats()
        self.activities.keep_only(registered | {pid for pid, _ in self._seats})

    # -- registered clients

    def _update_registered(self, registrations: list[Client]) -> None:
        current: dict[str, Client] = {}
        for client in sorted(registrations, key=lambda one: (one.is_here, one.status_time or 0.0)):
            if not client.is_dead:
                current[client.session_id] = client
        by_pid = {client.pid: client for client in current.values()}
        dead = {client.session_id: client for client in registrations if client.is_dead}
        for session_id, client in self._registered.items():
            if session_id not in current:
                other = by_pid.get(client.pid)
                is_left = other is not None and other.start == client.start
                if not is_left and self._is_exiting(client):
                    current[session_id] = client
                    continue
                self._departed[session_id] = self._depart(
                    "left" if is_left else "ended", is_sure=True, client=dead.get(session_id)
                )
        for session_id, client in dead.items():
            self._departed.setdefault(session_id, self._depart("ended", is_sure=True, client=client))
        for session_id in current:
            self._departed.pop(session_id, None)
        self._registered = current
        self._registered_processes |= {(client.pid, client.start) for client in current.values() if client.is_here}

    def _is_exiting(self, client: Client) -> bool:
        """Return whether a client that has removed its registration is still running."""
        if not client.is_here or not self._processes.is_alive(client.pid, client.start):
            self._exits.pop(client.pid, None)
            return False
        mono = self._clock.monotonic()
        return mono - self._exits.setdefault(client.pid, mono) < _MAX_EXIT_SECONDS

    def _depart(self, presence: Presence, *, is_sure: bool = False, client: Client | None = None) -> ClientSign:
        return ClientSign(presence, is_sure, client, departure=self._clock.now())

    # -- unregistered clients

    def _update_seats(self) -> None:
        found = self._processes.find_clients()
        self._is_visible = found is not None
        pids = {process.pid for process in found or ()}
        loose = {
            (process.pid, process.start): process
            for process in found or ()
            if not {(process.pid, process.start), (process.pid, None)} & self._registered_processes
            and process.parent not in pids
            and process.folder
        }
        for key in [key for key in self._seats if key not in loose]:
            self._leave_seat(self._seats.pop(key), "ended")
        for key, process in loose.items():
            if key not in self._seats:
                self._seats[key] = _Seat(process)
                self._open_named_session(self._seats[key])
            self._open_reported_session(self._seats[key])
        folders: dict[Path, list[_Seat]] = {}
        for seat in self._seats.values():
            if seat.folders is None:
                seat.folders = self._find_project_folders(seat.process)
            for folder in seat.folders:
                folders.setdefault(folder, []).append(seat)
        self._folder_times = {folder: read_mtime_ns(folder) for folder in folders}
        for folder, seats in folders.items():
            self._assign_sessions(folder, seats)

    def _note_reports(self, reports: Sequence[HookReport]) -> None:
        self._reported.add(reports)
        for seat in self._seats.values() if reports else ():
            self._open_reported_session(seat)

    def _open_reported_session(self, seat: _Seat) -> None:
        """Give a client the session that its hooks named last."""
        session_id = self._reported.find_session(seat.key)
        if session_id is not None and session_id not in self._registered:
            self._take_seat(seat, session_id)
            seat.is_reported = True

    def _open_named_session(self, seat: _Seat) -> None:
        """Give a client the session that its arguments name."""
        session_id = seat.process.session_id
        if session_id is not None and session_id not in self._registered:
            self._take_seat(seat, session_id)

    def _has_seat_changed(self) -> bool:
        """Return whether an unregistered client has ended, or a session was created in its folder."""
        has_ended = any(not self._processes.is_alive(pid, start) for pid, start in self._seats)
        return has_ended or any(read_mtime_ns(folder) != time for folder, time in self._folder_times.items())

    def _leave_seat(self, seat: _Seat, presence: Presence) -> None:
        if seat.session_id is not None:
            self._departed[seat.session_id] = self._depart(presence)
            seat.session_id = None

    def _find_project_folders(self, process: ClientProcess) -> list[Path]:
        slug = make_slug(process.folder)
        own = process.config_dir and os.path.realpath(process.config_dir)
        folders = [folder for folder, real in self._real_dirs.items() if own is None or real == own]
        return [folder / "projects" / slug for folder in folders]

    def _assign_sessions(self, folder: Path, seats: list[_Seat]) -> None:
        """Give each session that was written to the client that most likely wrote it."""
        known = {seat.session_id for seat in seats if seat.is_reported}
        seats = [seat for seat in seats if not seat.is_reported] or seats
        files = [
            file
            for file in list_project_sessions(folder)
            if not {file.session_id} & (self._registered.keys() | self._reported.hidden_sessions | known)
        ]
        for seat in seats if len(seats) > 1 else ():
            seat.measure_growth(self._processes.read_activity(seat.process.pid))
        for file in sorted(files, key=lambda file: -file.mtime_ns):
            before = self._written.get(file.session_id)
            if before == (file.mtime_ns, file.size):
                continue
            self._written[file.session_id] = (file.mtime_ns, file.size)
            departed = self._departed.get(file.session_id)
            if departed is not None and file.mtime_ns / 1e9 <= departed.departure + _SLACK_SECONDS:
                continue  # the last words of a client that has left it
            writer = self._choose_seat(file, seats, file.size - before[1] if before else 0)
            if writer is not None and writer.session_id != file.session_id:
                self._take_seat(writer, file.session_id)
                if writer.is_reported:
                    writer.is_reported = False
                    self._reported.forget_process(writer.key)

    def _choose_seat(self, file: SessionFile, seats: list[_Seat], growth: int) -> _Seat | None:
        """Choose the client of a session: the only one that wrote enough, its own, a free one, or the idlest one."""
        able = [seat for seat in seats if seat.process.started - _SLACK_SECONDS <= file.mtime_ns / 1e9]
        writers = [seat for seat in able if seat.growth is not None and seat.growth >= growth > 0]
        if len(writers) == 1 and all(seat.growth is not None for seat in able):
            return writers[0]
        if own := next((seat for seat in able if seat.session_id == file.session_id), None):
            return own
        if free := [seat for seat in able if seat.session_id is None]:
            return max(free, key=lambda seat: seat.process.started)
        taken = [seat for seat in able if self._get_write_time(seat) < file.mtime_ns]
        if _is_blank(file):  # a client that resumes a session creates such a file too, and does not use it
            taken = [seat for seat in taken if len(able) == 1 and self._has_written(seat)]
        return min(taken, key=self._get_write_time, default=None)

    def _has_written(self, seat: _Seat) -> bool:
        """Return whether a client has written to its session, so that a new session can only be its next one."""
        return self._get_write_time(seat) > (seat.process.started + _SLACK_SECONDS) * 1e9

    def _get_write_time(self, seat: _Seat) -> int:
        return self._written.get(seat.session_id or "", (0, 0))[0]

    def _take_seat(self, seat: _Seat, session_id: str) -> None:
        """Record that a client has a session open; another client that seemed to have it gets the other session."""
        if seat.session_id == session_id:
            return
        other = next((one for one in self._seats.values() if one.session_id == session_id), None)
        if other is not None:
            other.session_id, seat.session_id = seat.session_id, None
        self._leave_seat(seat, "left")
        seat.session_id = session_id
        self._departed.pop(session_id, None)

    def add_config_dir(self, folder: Path) -> None:
        """Find the clients of one more config folder."""
        with self._lock:
            self._config_dirs.append(folder)

    # -- what is known about one session

    def find_client(self, file: SessionFile, last_activity: float | None, has_unseen_writer: bool) -> ClientSign:
        """Return what is known about the client of a session."""
        with self._lock:
            return self._find_client(file.session_id, last_activity, has_unseen_writer)

    def _find_client(self, session_id: str, last_activity: float | None, has_unseen_writer: bool) -> ClientSign:
        if (client := self._registered.get(session_id)) is not None:
            pid = client.pid if client.is_here else None
            return ClientSign("open" if client.is_here else "unknown", client.is_here, client, pid)
        if seat := next((seat for seat in self._seats.values() if seat.session_id == session_id), None):
            process = seat.process
            return ClientSign("open", seat.is_reported, None, process.pid, process.started, process.start)
        if session_id in self._reported.hidden_sessions:
            return _UNKNOWN
        departed = self._departed.get(session_id)
        if departed is not None and (last_activity or 0.0) <= departed.departure + _SLACK_SECONDS:
            return departed
        if not self._is_visible or has_unseen_writer:
            return _UNKNOWN
        age = self._clock.now() - last_activity if last_activity is not None else 0.0
        return _UNKNOWN if age < _UNSEEN_AFTER_SECONDS else ClientSign("ended")

    @property
    def open_sessions(self) -> frozenset[str]:
        """The ids of the sessions that a client has open."""
        with self._lock:
            seated = {seat.session_id for seat in self._seats.values() if seat.session_id is not None}
            return frozenset(self._registered.keys() | seated)

    @property
    def active_folders(self) -> frozenset[str]:
        """The project folders in which unregistered clients run."""
        return frozenset(map(str, self._folder_times))

    @property
    def client_folders(self) -> list[Path]:
        """The project folders in which any client runs."""
        with self._lock:
            slugs = {make_slug(client.cwd) for client in self._registered.values() if client.cwd}
        folders = {folder / "projects" / slug for folder in self._config_dirs for slug in slugs}
        return list(folders | set(self._folder_times))

    # -- hooks and histories

    def find_typed_command(self, session_id: str) -> TypedCommand | None:
        """Find what a person typed last in a session."""
        with self._lock:
            return self._typed.find_latest(session_id)

    def find_hook(self, session: Path) -> HookSign | None:
        """Find the latest report of a hook about a session."""
        with self._lock:
            return find_hook_sign(self._reports, session, self._clock.now()) if self._reports else None


def read_mtime_ns(folder: str | Path) -> int:
    """Return when a folder was last changed; 0 if it does not exist."""
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116 - several times a second
    except OSError:
        return 0


def _is_blank(file: SessionFile) -> bool:
    """Return whether a session has no message yet."""
    if file.size > _MAX_BLANK_BYTES:
        return False
    try:
        data = file.path.read_bytes()
    except OSError:
        return True
    return b'"type":"user"' not in data and b'"type":"assistant"' not in data
