"""Keeps the index up to date while the server runs, and makes the timelines of large sessions ahead.

A page never waits for it. Little is read here, in a thread; much is read by a child process (`keeper`), which shares
neither the interpreter's lock nor the memory. Files are looked at every few seconds while a page is open, and now and
then otherwise.
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

from turnlog.store.file_lock import try_lock_file
from turnlog.store.index.file_changes import ChangedFile, IndexChanges, find_index_changes, has_archive_changed
from turnlog.store.store import Store
from turnlog.web.answers import build_json_response, get_machine
from turnlog.web.background.errand import Errand, ErrandProcess
from turnlog.web.machine import Machine

OPEN_POLL_SECONDS, IDLE_POLL_SECONDS = 2.0, 30.0
"""Seconds between two looks."""
_PAGE_OPEN_SECONDS = 20.0
"""A page asks for the state at least this often, or it is not looked at."""
_MAX_INLINE_BYTES = 2 << 20
"""So many bytes are read in this process: less work than starting another one."""
LARGE_SESSION_BYTES = 4 << 20
"""The timeline of a session of this size is made ahead."""
_MAX_TIMELINES = 200
"""So many of them; the newest."""
_STOP_TIMEOUT_SECONDS = 5.0
_MAX_TRIES, _LOCK_RETRY_SECONDS = 4, 0.05
_QUIET_NS = 60 * 10**9
"""A session that was written within this time is likely to grow again, and its timeline would be old at once."""


class IndexUpkeep:
    """A thread that looks after the index of a place."""

    def __init__(self, place: Machine, tell: Callable[[str], object]) -> None:
        self.place = place
        self._tell = tell
        self._thread = threading.Thread(target=self._run, name="upkeep", daemon=True)
        self._warm: dict[str, tuple[int, int]] = {}
        """Sessions whose timeline was made, or could not be made, with their size and time."""
        self._tries: Counter[ChangedFile] = Counter()
        self._mark: Any = None
        self._child: ErrandProcess | None = None

    def __enter__(self) -> IndexUpkeep:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.place.ending.set()
        if self._child:
            self._child.stop()
        self._thread.join(_STOP_TIMEOUT_SECONDS)

    def _run(self) -> None:
        while not self.place.ending.is_set():
            try:
                self.run_round()
            except Exception as error:  # noqa: BLE001 - whatever it is, the pages must say that the index stands still
                self._report_failure(str(error) or type(error).__name__)
                self.place.ending.wait(IDLE_POLL_SECONDS)
            self._wait_for_next_round()

    def _wait_for_next_round(self) -> None:
        """Wait for the next look; whoever opens a page does not wait half a minute for it."""
        for _ in range(int(IDLE_POLL_SECONDS / OPEN_POLL_SECONDS)):
            if self.place.ending.wait(OPEN_POLL_SECONDS) or time.monotonic() - self.place.visited < _PAGE_OPEN_SECONDS:
                return

    def _report_failure(self, words: str) -> None:
        if self.place.state.failure != words:
            self._tell(words)
        self.place.state = self.place.state._replace(phase="failed", failure=words)

    def run_round(self) -> None:
        """Look once, and do what there is to do."""
        store = self.place.store
        found = self._find_changes(store)
        if found is None:  # another turnlog is at it
            self._update_state(store, "indexing")
            return
        files = self.skip_hopeless_files(found.files)
        more = sum(item.more for item in files)
        is_archived = not self.place.is_demo and has_archive_changed(store.db, self.place.data_dir / "archive")
        if more > _MAX_INLINE_BYTES or is_archived:
            self._update_state(store, "indexing", 0, more)
            self._run_errand(Errand.from_machine(self.place, refreshes=True))
        elif files:
            store.refresh(self.place.config_dirs)
        self._update_state(store, "idle")
        if cold := self._find_cold_sessions(store):
            self._update_state(store, "timelines", 0, len(cold))
            self._run_errand(Errand.from_machine(self.place, timelines=cold))
            self._update_state(store, "idle")

    def skip_hopeless_files(self, files: list[ChangedFile]) -> list[ChangedFile]:
        """Files that changed, without those that were tried in vain: some can't be read, and stay changed for ever."""
        found = [item for item in files if self._tries[item] < _MAX_TRIES]
        self._tries = Counter({item: self._tries[item] + 1 for item in files})
        return found

    def _find_changes(self, store: Store) -> IndexChanges | None:
        for _ in range(_MAX_TRIES):
            with try_lock_file(store.lock) as is_ours:
                if is_ours:
                    return find_index_changes(store.db, self.place.config_dirs)
            self.place.ending.wait(_LOCK_RETRY_SECONDS)  # who opens the index holds the lock for a moment
        return None

    def _run_errand(self, errand: Errand) -> None:
        self._child = ErrandProcess(errand)
        if self.place.ending.is_set():
            self._child.stop()
        for told in self._child.read_progress():
            self._update_state(self.place.store, told.phase, told.done, told.total)

    def _update_state(self, store: Store, phase: str, done: int = 0, total: int = 0) -> None:
        """Say what is being done; a page may want to be made again when what the index holds has changed."""
        before = self.place.state
        mark = store.db.execute("SELECT count(*), sum(gone IS NULL), sum(offset), max(mtime_ns) FROM file").fetchone()
        generation = before.generation + (self._mark not in (None, mark))
        self._mark = mark
        self.place.state = before._replace(phase=phase, done=done, total=total, generation=generation, failure="")

    def _find_cold_sessions(self, store: Store) -> list[Path]:
        """Large sessions without a timeline, newest first."""
        rows: list[Any] = store.db.execute(
            "SELECT path FROM file WHERE kind = 'session' AND gone IS NULL AND size > ? ORDER BY mtime_ns DESC LIMIT ?",
            (LARGE_SESSION_BYTES, _MAX_TIMELINES),
        ).fetchall()
        return [Path(path) for (path,) in rows if self._is_timeline_due(path)]

    def _is_timeline_due(self, path: str) -> bool:
        """Whether a timeline is to be made, now that it was asked for."""
        try:
            status = os.stat(path)  # noqa: PTH116 - for each of them, at every look
        except OSError:
            return False
        state = status.st_size, status.st_mtime_ns
        before = self._warm.get(path)
        if before == state or (before and time.time_ns() - status.st_mtime_ns < _QUIET_NS):
            return False
        self._warm[path] = state
        return True


async def send_index_state(request: Request) -> Response:
    """What is being done in the background."""
    place = get_machine(request)
    place.visited = time.monotonic()
    now = place.state
    return build_json_response({**now._asdict(), "is_busy": now.is_busy, "words": now.words, "is_demo": place.is_demo})


routes: list[BaseRoute] = [Route("/api/state", send_index_state)]
