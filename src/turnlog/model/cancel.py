"""Taking back a request from another thread, at any moment: while it waits, and while it reads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from turnlog.model.failures import RequestCancelled


class Cancel:
    """A sign that is set once."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._todo: list[Callable[[], object]] = []

    def set(self) -> None:
        """Take back whatever holds this sign."""
        with self._lock:
            self._event.set()
            todo, self._todo = self._todo, []
        for act in todo:
            act()

    @property
    def is_set(self) -> bool:
        """Whether it was taken back."""
        return self._event.is_set()

    def check(self) -> None:
        """Raise if it was taken back."""
        if self.is_set:
            raise RequestCancelled("cancelled")

    def pause(self, seconds: float) -> None:
        """Wait, but no longer than until it is taken back; then raise."""
        if self._event.wait(seconds):
            raise RequestCancelled("cancelled")

    @contextmanager
    def on_cancel(self, act: Callable[[], object]) -> Iterator[None]:
        """While this lasts, taking back does something too: it closes the connection that somebody reads from."""
        with self._lock:
            if not self._event.is_set():
                self._todo.append(act)
        self.check()
        try:
            yield
        finally:
            with self._lock:
                if act in self._todo:
                    self._todo.remove(act)
