"""Retries requests after temporary failures, with increasing pauses or the pauses that the server requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from turnlog.model.cancel import Cancel
from turnlog.model.events import ModelEvent, RetryStarted
from turnlog.model.failures import ModelError
from turnlog.model.model import Model
from turnlog.model.request import ModelRequest


class RetryPolicy(Struct, frozen=True):
    """How many times to retry, and how long to wait."""

    attempts: int = 8
    """The total number of requests, including the first."""
    first: float = 0.5
    """Seconds before the second attempt; the pause doubles each time."""
    longest: float = 32.0
    """The longest pause in seconds, unless the server requests more."""
    waits_for_server: float = 120.0
    """The longest wait, in seconds, that the server may request; beyond it, give up."""
    spread: float = 0.25
    """The share of a pause that is randomly added or removed, so that clients don't retry in step."""

    def compute_pause(self, failures: int, error: ModelError, random: Callable[[], float]) -> float | None:
        """Return the pause after a number of failures, or None to give up; `random` returns numbers from 0 to 1."""
        if not error.is_passing or failures >= self.attempts:
            return None
        own = min(self.longest, self.first * 2.0 ** min(failures - 1, 30))
        own *= 1 + self.spread * (2 * random() - 1)
        if error.retry_after is None:
            return own
        return None if error.retry_after > self.waits_for_server else max(error.retry_after, own)


class RetryingModel(Model):
    """A model that retries temporary failures."""

    def __init__(self, model: Model, patience: RetryPolicy | None = None) -> None:
        self.model = model
        self.patience = patience or RetryPolicy()

    def stream(self, request: ModelRequest, cancel: Cancel | None = None) -> Iterator[ModelEvent]:
        """Yield the events of an answer; after `RetryStarted`, the answer starts over."""
        cancel = cancel or Cancel()
        failures = 0
        while True:
            try:
                yield from self.model.stream(request, cancel)
                return
            except ModelError as error:
                failures += 1
                pause = self._choose_pause(failures, error)
                again = RetryStarted(failures + 1, pause, str(error), self.patience.attempts, error.status)
            yield again
            cancel.pause(pause)

    def count_tokens(self, request: ModelRequest, cancel: Cancel | None = None) -> int:
        cancel = cancel or Cancel()
        failures = 0
        while True:
            try:
                return self.model.count_tokens(request, cancel)
            except ModelError as error:
                failures += 1
                pause = self._choose_pause(failures, error)
            cancel.pause(pause)

    def _choose_pause(self, failures: int, error: ModelError) -> float:
        """Return the pause, or raise the error if no retries are left."""
        from random import random  # its import costs more than this whole module

        pause = self.patience.compute_pause(failures, error, random)
        if pause is None:
            raise error
        return pause
