"""The server's child process: reads large amounts of data, reports progress, and ends when its standard input
closes."""

from __future__ import annotations

import _thread
import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec

from turnlog.errors import TurnlogError
from turnlog.store.index.file_changes import has_archive_changed
from turnlog.store.index.fill_lock import hold_index_lock
from turnlog.web.background.errand import Errand, ErrandProgress
from turnlog.web.machine import reopen_index

_PROGRESS_PAUSE_SECONDS = 0.2
_NICENESS = 10


class ErrandRunner:
    def __init__(self, errand: Errand, out: IO[bytes]) -> None:
        self.errand = errand
        self._out = out
        self._reported = 0.0

    def run(self) -> None:
        """Carry out the errand and report any failure."""
        try:
            if self.errand.refreshes:
                self._refresh_index()
            if self.errand.timelines:
                self._make_timelines()
        except (TurnlogError, OSError) as error:
            self._write_progress(ErrandProgress("failed", failure=str(error)))

    def _refresh_index(self) -> None:
        folders = [Path(folder) for folder in self.errand.config_dirs]
        with reopen_index(Path(self.errand.index)) as store:
            store.refresh(folders, self._report_progress, is_whole=self.errand.is_whole)
            archive = Path(self.errand.data_dir)
            if has_archive_changed(store.db, archive / "archive"):
                from turnlog.store.archive.archive import Archive
                from turnlog.store.index.adoption import adopt_from_archive

                with hold_index_lock(store.lock) as is_ours:
                    if is_ours:
                        adopt_from_archive(store.db, Archive(archive), folders)

    def _make_timelines(self) -> None:
        from turnlog.store.timelines.timelines import Timelines, prune_timelines

        folder = Path(self.errand.index).parent / "timelines"
        timelines = Timelines(folder)
        for number, path in enumerate(self.errand.timelines):
            self._write_progress(ErrandProgress("timelines", number, len(self.errand.timelines)))
            try:
                if not timelines.has(Path(path)):
                    timelines.get_timeline(Path(path))
            except (TurnlogError, OSError):
                continue  # the session's page reports the reason when it is opened
        for _ in prune_timelines(folder):
            pass

    def _report_progress(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._reported > _PROGRESS_PAUSE_SECONDS:
            self._reported = now
            self._write_progress(ErrandProgress("indexing", done, total))

    def _write_progress(self, progress: ErrandProgress) -> None:
        self._out.write(msgspec.json.encode(progress) + b"\n")
        self._out.flush()


def run_errand() -> None:
    """Read an errand from standard input and carry it out."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)  # pages have priority
    line = sys.stdin.buffer.readline()
    threading.Thread(target=_wait_for_stdin_end, daemon=True).start()
    with suppress(KeyboardInterrupt, BrokenPipeError):  # no one is left to read the report
        ErrandRunner(msgspec.json.decode(line, type=Errand), sys.stdout.buffer).run()


def _wait_for_stdin_end() -> None:
    while os.read(0, 1):  # `sys.stdin` would hold a lock at exit
        pass
    _thread.interrupt_main()  # a write in progress finishes first


if __name__ == "__main__":
    run_errand()
