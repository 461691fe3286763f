"""Keeps the index up to date; a long first update continues in the background instead of holding up a tool.

Of large changes, only the conversations are read here, as by the commands; a background process reads the rest.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

from turnlog.api.config import Config
from turnlog.api.index import open_index
from turnlog.errors import TurnlogError

MAX_WAIT_SECONDS = 10.0
"""How long a tool waits for an update."""


class UpdateProgress(NamedTuple):
    done: int = 0
    total: int = 0

    @property
    def percent(self) -> int:
        return 100 * self.done // self.total if self.total else 0


class BackgroundIndexing:
    """At most one update of the index at a time, in a thread of its own."""

    def __init__(self, config: Config, *, max_wait_seconds: float = MAX_WAIT_SECONDS) -> None:
        self._config = config
        self._max_wait_seconds = max_wait_seconds
        self._thread: threading.Thread | None = None
        self._progress = UpdateProgress()
        self._failure: TurnlogError | None = None
        self._is_busy = False

    def update_index(self) -> str:
        """Update the index; return a sentence about what is missing from it, or an empty string."""
        if self._thread is None:
            self._progress, self._failure = UpdateProgress(), None
            # A daemon, because a server whose client has gone must not finish an update first.
            self._thread = threading.Thread(target=self._run_update, name="turnlog-index", daemon=True)
            self._thread.start()
        self._thread.join(self._max_wait_seconds)
        if self._thread.is_alive():
            return f"The index is being built ({self._progress.percent} %), so results are missing; ask again later."
        self._thread = None
        if self._failure is not None:
            raise self._failure
        if self._is_busy:
            return "Another program is updating the index, so the newest results may be missing."
        return ""

    def _run_update(self) -> None:
        try:
            with open_index(self._config, is_whole=False, progress=self._note_progress) as (_, done):
                self._is_busy = done.is_busy
        except TurnlogError as error:
            self._failure = error
        except Exception as error:  # noqa: BLE001 - the tool that waits reports it
            self._failure = TurnlogError(f"the index can't be updated ({type(error).__name__}); run `turnlog index`")

    def _note_progress(self, done: int, total: int) -> None:
        self._progress = UpdateProgress(done, total)
