"""The child process of the server: reads what is much, says how far it is, and ends when its standard input does."""

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
from turnlog.store.index.changes import archive_changed
from turnlog.store.lock import locked
from turnlog.web.background.errand import Errand, Told
from turnlog.web.place import reopened

_PAUSE = 0.2
_POLITE = 10


class Keeper:
    """Does an errand."""

    def __init__(self, errand: Errand, out: IO[bytes]) -> None:
        self.errand = errand
        self._out = out
        self._said = 0.0

    def run(self) -> None:
        """Do it, with a word on failure."""
        try:
            if self.errand.refreshes:
                self._refresh()
            if self.errand.timelines:
                self._timelines()
        except (TurnlogError, OSError) as error:
            self._say(Told("failed", failure=str(error)))

    def _refresh(self) -> None:
        folders = [Path(folder) for folder in self.errand.config_dirs]
        with reopened(Path(self.errand.index)) as store:
            store.refresh(folders, self._progress)
            archive = Path(self.errand.data_dir)
            if archive_changed(store.db, archive / "archive"):
                from turnlog.store.archive.archive import Archive
                from turnlog.store.index.adopt import adopt

                with locked(store.lock) as is_ours:
                    if is_ours:
                        adopt(store.db, Archive(archive), folders)

    def _timelines(self) -> None:
        from turnlog.store.timelines.timelines import Timelines, prune

        folder = Path(self.errand.index).parent / "timelines"
        made = Timelines(folder)
        for number, path in enumerate(self.errand.timelines):
            self._say(Told("timelines", number, len(self.errand.timelines)))
            try:
                if not made.has(Path(path)):
                    made.of(Path(path))
            except (TurnlogError, OSError):
                continue  # the page says why when somebody opens it
        for _ in prune(folder):
            pass

    def _progress(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._said > _PAUSE:
            self._said = now
            self._say(Told("indexing", done, total))

    def _say(self, told: Told) -> None:
        self._out.write(msgspec.json.encode(told) + b"\n")
        self._out.flush()


def main() -> None:
    """Do the errand that stands on standard input."""
    if hasattr(os, "nice"):
        os.nice(_POLITE)  # pages come first
    line = sys.stdin.buffer.readline()
    threading.Thread(target=_listen, daemon=True).start()
    with suppress(KeyboardInterrupt, BrokenPipeError):  # nobody is there to be told
        Keeper(msgspec.json.decode(line, type=Errand), sys.stdout.buffer).run()


def _listen() -> None:
    while os.read(0, 1):  # not by way of `sys.stdin`, whose lock would be held at the end
        pass
    _thread.interrupt_main()  # what writes ends its step first


if __name__ == "__main__":
    main()
