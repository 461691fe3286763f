"""Cancels a request from another thread at any time, even while the request is waiting or reading."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from turnlog.model.failures import RequestCancelled


class Cancel:
    """A cancellation signal that is set once."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._actions: list[Callable[[], object]] = []

    def set(self) -> None:
        """Cancel everything that uses this signal."""
        with self._lock:
            self._event.set()
            actions, self._actions = self._actions, []
        for action in actions:
            action()

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def check(self) -> None:
        """Raise RequestCancelled if the signal is set."""
        if self.is_set:
            raise RequestCancelled("cancelled")

    def pause(self, seconds: float) -> None:
        """Wait; raise RequestCancelled as soon as the signal is set."""
        if self._event.wait(seconds):
            raise RequestCancelled("cancelled")

    @contextmanager
    def on_cancel(self, action: Callable[[], object]) -> Iterator[None]:
        """Within the block, run `action` on cancellation, to close a connection that another thread is reading from."""
        with self._lock:
            if not self._event.is_set():
                self._actions.append(action)
        self.check()
        try:
            yield
        finally:
            with self._lock:
                if action in self._actions:
                    self._actions.remove(action)
