"""All sessions on a machine that are working, waiting, or were active today.

Following thousands of files takes little effort: files written within the last minutes are checked at every poll,
those of today every few seconds, all others only occasionally, when the folders are listed anyway. A new file is found
within a second, because its folder's modification time changes. A file that can't have been active today is not read,
and one whose last timestamp is older is read only at its end.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from turnlog.entries.layout import (
    SessionFile,
    describe_other_file,
    is_missing,
    list_project_folders,
    list_project_sessions,
)
from turnlog.entries.resume_command import find_resume_folder
from turnlog.live.client_watch import ClientWatch, Clock, SystemClock, read_mtime_ns
from turnlog.live.hook_reports import HookReports
from turnlog.live.processes import Processes
from turnlog.live.session_watch import SessionWatch, read_last_time
from turnlog.live.states import BoardColumn, SessionState, choose_column

HOT_INTERVAL_SECONDS, WARM_INTERVAL_SECONDS, COLD_INTERVAL_SECONDS = 0.0, 3.0, 15.0
"""Seconds between two checks of a file."""
_HOT_AGE_SECONDS = 300.0
_SETTLED_AGE_SECONDS, _ENDED_AGE_SECONDS = 2400.0, 30.0
_FOLDER_CHECK_SECONDS = 1.0
_DAY_SECONDS = 86400.0


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
    """When something last happened in one of its files, in seconds since 1970."""
    last_sentence: str = ""
    """What the model said last."""


class _WatchedSession(SessionWatch):
    """A session on the board, with when to check it next."""

    def __init__(self, file: SessionFile) -> None:
        super().__init__(file)
        self.next = 0.0
        self.row: BoardRow | None = None
        self.judged = float("-inf")
        """When the row was built."""
        self.old_mtime_ns: int | None = None
        """The time of the file when its end showed that it was not active today."""


class Board:
    """The sessions of some config folders, or `only` those in some files, which may be anywhere.

    `clock` and `processes` replace those of this machine; `clients` shares what is known about clients with others.
    `reports` are the hook's; without them, fewer states are certain.
    """

    def __init__(
        self,
        config_dirs: Iterable[Path],
        clock: Clock | None = None,
        processes: Processes | None = None,
        clients: ClientWatch | None = None,
        reports: HookReports | None = None,
        only: Iterable[Path] | None = None,
    ) -> None:
        self._config_dirs = list(config_dirs)
        self._only = None if only is None else [str(path) for path in only]
        self._clock = clock or SystemClock()
        self.clients = clients or ClientWatch(self._config_dirs, self._clock, processes, reports)
        self._watched: dict[str, _WatchedSession] = {}
        self._folders: dict[str, int] = {}
        self._listed_again: set[str] = set()
        """The folders that were listed a second time since they changed."""
        self._listed_at = self._folders_checked_at = float("-inf")
        self._open_sessions: frozenset[str] = frozenset()
        self.rows: dict[str, BoardRow] = {}

    @property
    def size(self) -> int:
        """How many files are followed."""
        return len(self._watched)

    def list_files(self) -> list[SessionFile]:
        """Return the files that are followed, each as it was when it was found."""
        return [watched.file for watched in self._watched.values()]

    def add_config_dir(self, folder: Path) -> None:
        """Follow the sessions of one more config folder."""
        self._config_dirs.append(folder)
        self._folders_checked_at = float("-inf")

    def poll(self) -> list[BoardRow | str]:
        """Return what has changed: rows that are new or different, and the paths of rows that are gone."""
        mono, now = self._clock.monotonic(), self._clock.now()
        self.clients.poll()
        self._find_sessions(mono)
        self._open_sessions = self.clients.open_sessions
        for watched in list(self._watched.values()):
            if watched.next <= mono or watched.file.session_id in self._open_sessions:
                self._visit_session(watched, mono, now)
        return self._update_rows(now)

    # -- finding files

    def _find_sessions(self, mono: float) -> None:
        for folder in self.clients.client_folders if self._only is None else ():  # where a new session is most likely
            if self._has_changed(str(folder)):
                self._watch_files(list_project_sessions(folder, folder.parent.parent))
        everything = mono - self._listed_at >= COLD_INTERVAL_SECONDS
        if not everything and mono - self._folders_checked_at < _FOLDER_CHECK_SECONDS:
            return
        self._folders_checked_at = mono
        if self._only is not None:
            self._watch_files(file for path in self._only if (file := describe_other_file(path)) is not None)
            return
        active = self.clients.active_folders
        for config_dir in self._config_dirs:
            for folder in list_project_folders(config_dir):
                if everything or self._has_changed(str(folder)) or str(folder) in active:
                    self._watch_files(list_project_sessions(folder, config_dir))
        if everything:
            self._listed_at = mono

    def _has_changed(self, folder: str) -> bool:
        """Return whether a folder must be listed: after a change twice, because two changes may have the same time."""
        changed = read_mtime_ns(folder)
        if self._folders.get(folder) != changed:
            self._folders[folder] = changed
            self._listed_again.discard(folder)
            return True
        is_due = folder not in self._listed_again
        self._listed_again.add(folder)
        return is_due

    def _watch_files(self, files: Iterable[SessionFile]) -> None:
        for file in files:
            watched = self._watched.get(file.file)
            if watched is None:
                self._watched[file.file] = _WatchedSession(file)
            elif file.mtime_ns / 1e9 != watched.written:
                watched.next = 0.0
                if watched.checkpoint is None:  # otherwise it is recognised as changed when it is read
                    watched.written = file.mtime_ns / 1e9

    # -- checking them

    def _visit_session(self, watched: _WatchedSession, mono: float, now: float) -> None:
        is_open = watched.file.session_id in self._open_sessions
        if watched.checkpoint is None and not is_open and self._is_old(watched, now):
            watched.next = mono + COLD_INTERVAL_SECONDS
            return
        try:
            watched.read_new_lines(now)
            age = now - watched.last_activity
            watched.next = mono + _choose_interval(age)
            if age < _HOT_AGE_SECONDS or is_open or watched.has_open_work:
                watched.read_agents(now, mono)
        except OSError:
            if is_missing(watched.file.file):  # otherwise it can't be read now, and its row is kept
                self._watched.pop(watched.file.file, None)

    def _is_old(self, watched: _WatchedSession, now: float) -> bool:
        """Return whether a session that was not read yet was last active before today."""
        if now - watched.written > _DAY_SECONDS:
            return True
        mtime_ns = int(watched.written * 1e9)
        if watched.old_mtime_ns == mtime_ns:
            return True
        last = read_last_time(watched.file.file)
        is_old = last is not None and now - last > _DAY_SECONDS
        watched.old_mtime_ns = mtime_ns if is_old else None
        return is_old

    def _update_rows(self, now: float) -> list[BoardRow | str]:
        midnight = _find_midnight(now)
        rows: dict[str, BoardRow] = {}
        for path, watched in self._watched.items():
            if watched.checkpoint is not None and self._is_shown(watched):
                row = self._refresh_row(watched, now)
                if row.column != "ended" or row.written >= midnight:
                    rows[path] = row
        changed: list[BoardRow | str] = [row for path, row in rows.items() if self.rows.get(path) != row]
        changed += [path for path in self.rows if path not in rows]
        self.rows = rows
        return changed

    def _is_shown(self, watched: _WatchedSession) -> bool:
        """Return whether a file is a session; one without a message is, as soon as a client has it open."""
        return not watched.is_junk or (watched.is_blank and watched.file.session_id in self._open_sessions)

    def _refresh_row(self, watched: _WatchedSession, now: float) -> BoardRow:
        """Return the row of a session; that of an old one, or of one that has ended, is rebuilt less often."""
        latest, row = watched.last_activity, watched.row
        settled_after = _ENDED_AGE_SECONDS if row is not None and row.column == "ended" else _SETTLED_AGE_SECONDS
        is_old = now - latest > settled_after and watched.file.session_id not in self._open_sessions
        is_due = not 0 <= now - watched.judged <= COLD_INTERVAL_SECONDS or watched.judged < latest
        if row is None or not is_old or is_due:
            row, watched.judged = self._build_row(watched, now), now
            watched.row = row
        return row

    def _build_row(self, watched: _WatchedSession, now: float) -> BoardRow:
        file, fold = watched.file, watched.fold
        state, signs = watched.judge(now, self.clients)
        folder = find_resume_folder(Path(file.file), [cwd for cwd in (fold.cwd, watched.cwd) if cwd])
        return BoardRow(
            file.file,
            file.session_id,
            watched.title,
            folder or file.project_dir.name,
            fold.git_branch,
            choose_column(state, datetime.fromtimestamp(now, UTC), signs),
            state,
            watched.last_activity,
            fold.last_sentence,
        )


def _choose_interval(age: float) -> float:
    if age < _HOT_AGE_SECONDS:
        return HOT_INTERVAL_SECONDS
    return WARM_INTERVAL_SECONDS if age < _DAY_SECONDS else COLD_INTERVAL_SECONDS


def _find_midnight(now: float) -> float:
    """Return when today started, in local time."""
    return datetime.fromtimestamp(now).astimezone().replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
