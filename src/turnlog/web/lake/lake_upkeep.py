"""A thread that shows new snapshots of a lake while the server runs."""

from __future__ import annotations

import threading
from collections.abc import Callable

from turnlog.web.lake.lake_machine import LakeMachine

POLL_SECONDS = 10.0
_STOP_TIMEOUT_SECONDS = 5.0


class LakeUpkeep:
    """Looks for a new snapshot every few seconds; the pages show the last one until the new one is ready."""

    def __init__(self, machine: LakeMachine, tell: Callable[[str], object], poll_seconds: float = POLL_SECONDS) -> None:
        self._machine, self._tell, self._poll_seconds = machine, tell, poll_seconds
        self._failure = ""
        self._thread = threading.Thread(target=self._run, name="lake-upkeep", daemon=True)

    def __enter__(self) -> LakeUpkeep:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._machine.ending.set()
        self._thread.join(_STOP_TIMEOUT_SECONDS)

    def _run(self) -> None:
        while not self._machine.ending.wait(self._poll_seconds):
            try:
                self._machine.refresh()
                self._failure = ""
            except Exception as error:  # noqa: BLE001 - the pages go on with the last snapshot
                self._report_failure(str(error).partition("\n")[0] or type(error).__name__)

    def _report_failure(self, message: str) -> None:
        if message != self._failure and not self._machine.ending.is_set():
            self._tell(f"new snapshots of the lake can't be shown: {message}")
        self._failure = message
