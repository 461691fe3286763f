"""Completes what a page could not wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from turnlog.web.machine import Machine

_DELAY_SECONDS = 0.3
"""The page that started the work comes first."""


class LateWork:
    """Does one thing at a time in a thread, and then lets open pages know that they are out of date."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self, machine: Machine, work: Callable[[], bool]) -> None:
        """Start the work, unless it is being done; it returns whether the result is new."""

        def run() -> None:
            if machine.ending.wait(_DELAY_SECONDS):
                return
            with suppress(Exception):  # a page that can't do without the result reports the same problem
                if work():
                    machine.late_listings += 1

        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=run, name=self._name, daemon=True)
                machine.helpers.add(self._thread)
                self._thread.start()
