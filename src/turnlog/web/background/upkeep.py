"""Keeps the index up to date while the server runs, and builds the timelines of large sessions in advance.

Pages never wait for this work. A thread in this process reads small changes; a child process (`errand_runner`) with its
own interpreter and memory reads large ones. Files are checked every few seconds while a page is open, and every half
minute otherwise.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.entries.file_stamp import FileStamp, to_file_stamp
from turnlog.store.filler import start_filler
from turnlog.store.index.coverage import needs_filling, needs_identifiers
from turnlog.store.index.file_changes import (
    ChangedFile,
    IndexChanges,
    find_index_changes,
    has_archive_changed,
    is_index_current,
    note_newest_files,
)
from turnlog.store.index.fill_lock import hold_index_lock, is_filler_running
from turnlog.store.store import Store
from turnlog.web.answers import build_json_response, get_machine
from turnlog.web.background.errand import Errand, ErrandProcess
from turnlog.web.background.index_pace import IndexPace, count_index_files
from turnlog.web.machine import Machine

OPEN_POLL_SECONDS, IDLE_POLL_SECONDS = 2.0, 30.0
"""Seconds between two checks of the files."""
_PAGE_OPEN_SECONDS = 20.0
"""An open page polls the state at least this often."""
_MAX_INLINE_BYTES = 2 << 20
"""Up to this size, reading here is faster than starting a process."""
LARGE_SESSION_BYTES = 4 << 20
"""Timelines of sessions above this size are built in advance."""
_MAX_TIMELINES = 200
"""How many timelines to build in advance, newest sessions first."""
_STOP_TIMEOUT_SECONDS = 5.0
_MAX_TRIES, _LOCK_RETRY_SECONDS = 4, 0.05
_QUIET_NS = 60 * 10**9
"""A session written to more recently than this will probably grow, which would immediately outdate its timeline."""


class IndexUpkeep:
    """A thread that keeps the index of a machine up to date."""

    def __init__(self, machine: Machine, tell: Callable[[str], object]) -> None:
        self.machine = machine
        self._tell = tell
        self._thread = threading.Thread(target=self._run, name="upkeep", daemon=True)
        self._warm: dict[str, FileStamp] = {}
        """Sessions whose timeline was attempted, with their size and time."""
        self._tries: Counter[ChangedFile] = Counter()
        self._mark: Any = None
        self._child: ErrandProcess | None = None
        self._pace = IndexPace()

    def __enter__(self) -> IndexUpkeep:
        self.machine.state = self.machine.state._replace(phase="starting")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.machine.ending.set()
        if self._child:
            self._child.stop()
        self._thread.join(_STOP_TIMEOUT_SECONDS)

    def _run(self) -> None:
        while not self.machine.ending.is_set():
            try:
                self.run_round()
            except Exception as error:  # noqa: BLE001 - the pages must report that updates have stopped
                self._report_failure(str(error) or type(error).__name__)
                self.machine.ending.wait(IDLE_POLL_SECONDS)
            self._wait_for_next_round()

    def _wait_for_next_round(self) -> None:
        """Wait until the next check is due; once a page is opened, wait only briefly."""
        for _ in range(int(IDLE_POLL_SECONDS / OPEN_POLL_SECONDS)):
            if (
                self.machine.ending.wait(OPEN_POLL_SECONDS)
                or time.monotonic() - self.machine.visited < _PAGE_OPEN_SECONDS
            ):
                return

    def _report_failure(self, message: str) -> None:
        if self.machine.state.failure != message:
            self._tell(message)
        self.machine.state = self.machine.state._replace(phase="failed", failure=message)

    def run_round(self) -> None:
        """Check the files once and update the index."""
        store = self.machine.store
        changes = self._find_changes(store)
        if changes is None:  # another turnlog process is updating the index
            self._update_state(store, "indexing")
            return
        files = self.skip_hopeless_files(changes.files)
        more = sum(item.more for item in files)
        is_archived = not self.machine.is_demo and has_archive_changed(store.db, self.machine.data_dir / "archive")
        is_left = not self.machine.fills_in_background and needs_filling(store.db)
        if more > _MAX_INLINE_BYTES or is_archived or is_left:
            self._pace = IndexPace()
            self._update_state(store, "indexing", 0, more)
            self._run_errand(Errand.from_machine(self.machine, refreshes=True))
        elif files:
            store.refresh(self.machine.config_dirs, is_whole=False)
        self._update_state(store, "idle")
        has_more = needs_filling(store.db) or needs_identifiers(store.db)
        if self.machine.fills_in_background and not store.is_temporary and has_more:
            start_filler(self.machine.index, self.machine.config_dirs)
        if cold := self._find_cold_sessions(store):
            self._update_state(store, "timelines", 0, len(cold))
            self._run_errand(Errand.from_machine(self.machine, timelines=cold))
            self._update_state(store, "idle")

    def skip_hopeless_files(self, files: list[ChangedFile]) -> list[ChangedFile]:
        """Drop files that repeatedly could not be read; otherwise, they would always be treated as changed."""
        found = [item for item in files if self._tries[item] < _MAX_TRIES]
        self._tries = Counter({item: self._tries[item] + 1 for item in files})
        return found

    def _find_changes(self, store: Store) -> IndexChanges | None:
        if is_filler_running(store.lock) and is_index_current(store.db, self.machine.config_dirs):
            return IndexChanges([], 0)
        for _ in range(_MAX_TRIES):
            with hold_index_lock(store.lock) as is_ours:
                if is_ours:
                    if note_newest_files(store.db, self.machine.config_dirs):
                        self.machine.late_listings += 1
                    return find_index_changes(store.db, self.machine.config_dirs)
            self.machine.ending.wait(_LOCK_RETRY_SECONDS)  # opening the index holds the lock briefly
        return None

    def _run_errand(self, errand: Errand) -> None:
        self._child = ErrandProcess(errand)
        if self.machine.ending.is_set():
            self._child.stop()
        for progress in self._child.read_progress():
            self._update_state(self.machine.store, progress.phase, progress.done, progress.total)

    def _update_state(self, store: Store, phase: str, done: int = 0, total: int = 0) -> None:
        """Publish the state; the generation increases if the contents of the index changed."""
        before = self.machine.state
        mark = store.db.execute("SELECT count(*), sum(gone IS NULL), sum(offset), max(mtime_ns) FROM file").fetchone()
        generation = before.generation + (self._mark not in (None, mark))
        self._mark = mark
        files, read = count_index_files(store.db) if phase == "indexing" else (0, 0)
        self.machine.state = before._replace(
            phase=phase,
            done=done,
            total=total,
            generation=generation,
            failure="",
            files=files,
            files_read=read,
            seconds_left=self._pace.estimate_seconds_left(done, total) if phase == "indexing" else None,
        )

    def _find_cold_sessions(self, store: Store) -> list[Path]:
        """List large sessions without a timeline, newest first."""
        rows: list[Any] = store.db.execute(
            "SELECT path FROM file WHERE kind = 'session' AND gone IS NULL AND size > ? ORDER BY mtime_ns DESC LIMIT ?",
            (LARGE_SESSION_BYTES, _MAX_TIMELINES),
        ).fetchall()
        return [Path(path) for (path,) in rows if self._is_timeline_due(path)]

    def _is_timeline_due(self, path: str) -> bool:
        """Return whether to build a timeline now; a path is due once for each state of its file."""
        try:
            status = os.stat(path)  # noqa: PTH116 - runs for every file in every round
        except OSError:
            return False
        state = to_file_stamp(status)
        before = self._warm.get(path)
        if before == state or (before and time.time_ns() - status.st_mtime_ns < _QUIET_NS):
            return False
        self._warm[path] = state
        return True


async def send_index_state(request: Request) -> Response:
    """Send the state of the background work."""
    machine = get_machine(request)
    machine.visited = time.monotonic()
    state = machine.state
    return build_json_response(
        {
            **state._asdict(),
            "generation": machine.generation,
            "is_busy": state.is_busy,
            "words": state.words,
            "is_demo": machine.is_demo,
        }
    )


routes: list[BaseRoute] = [Route("/api/state", send_index_state)]
