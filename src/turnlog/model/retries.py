"""Trying again, when it may help: after failures that pass, with growing pauses, as long as the server wants."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from turnlog.model.cancel import Cancel
from turnlog.model.events import ModelEvent, RetryStarted
from turnlog.model.failures import ModelError
from turnlog.model.model import Model
from turnlog.model.request import ModelRequest


class RetryPolicy(Struct, frozen=True):
    """How often and how long."""

    attempts: int = 8
    """Requests in all, the first one too."""
    first: float = 0.5
    """Seconds before the second attempt; each further pause is twice as long."""
    longest: float = 32.0
    """No pause of our own is longer."""
    waits_for_server: float = 120.0
    """If the server wants us to wait longer than this, it is given up."""
    spread: float = 0.25
    """Up to this part of a pause is left out or added, so that those who failed together don't come back together."""

    def compute_pause(self, failed: int, error: ModelError, chance: Callable[[], float]) -> float | None:
        """How long to wait after so many failures; None: it is given up. `chance` gives numbers from 0 to 1."""
        if not error.is_passing or failed >= self.attempts:
            return None
        own = min(self.longest, self.first * 2.0 ** min(failed - 1, 30))
        own *= 1 + self.spread * (2 * chance() - 1)
        if error.retry_after is None:
            return own
        return None if error.retry_after > self.waits_for_server else max(error.retry_after, own)


class RetryingModel(Model):
    """A model that is asked again when it fails for a reason that passes."""

    def __init__(self, model: Model, patience: RetryPolicy | None = None) -> None:
        self.model = model
        self.patience = patience or RetryPolicy()

    def stream(self, request: ModelRequest, cancel: Cancel | None = None) -> Iterator[ModelEvent]:
        """Answer; `Retrying` says that the answer begins anew."""
        cancel = cancel or Cancel()
        failed = 0
        while True:
            try:
                yield from self.model.stream(request, cancel)
                return
            except ModelError as error:
                failed += 1
                pause = self._choose_pause(failed, error)
                again = RetryStarted(failed + 1, pause, str(error), self.patience.attempts, error.status)
            yield again
            cancel.pause(pause)

    def count_tokens(self, request: ModelRequest, cancel: Cancel | None = None) -> int:
        """How many tokens a request has."""
        cancel = cancel or Cancel()
        failed = 0
        while True:
            try:
                return self.model.count_tokens(request, cancel)
            except ModelError as error:
                failed += 1
                pause = self._choose_pause(failed, error)
            cancel.pause(pause)

    def _choose_pause(self, failed: int, error: ModelError) -> float:
        """How long to wait; raises the error again if it is given up."""
        from random import random  # its import costs more than all of this module

        pause = self.patience.compute_pause(failed, error, random)
        if pause is None:
            raise error
        return pause
