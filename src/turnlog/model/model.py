"""The interface between turnlog and a language model.

`stream` yields events as they arrive. Closing its iterator ends the request; so does `cancel`, which can be called from
another thread. `scripted_model` answers from a list, `anthropic` sends requests to a server, and `retries` retries
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from turnlog.model.answer import ModelAnswer, fold_events
from turnlog.model.cancel import Cancel
from turnlog.model.events import ModelEvent
from turnlog.model.request import ModelRequest


class Model(Protocol):
    """A model that answers requests; thread-safe."""

    def stream(self, request: ModelRequest, cancel: Cancel | None = None) -> Iterator[ModelEvent]:
        """Yield the events of an answer; if the answer ends early, raise an exception."""
        ...  # pragma: no cover

    def count_tokens(self, request: ModelRequest, cancel: Cancel | None = None) -> int: ...  # pragma: no cover

    def complete(self, request: ModelRequest, cancel: Cancel | None = None) -> ModelAnswer:
        """Return the complete answer."""
        return fold_events(self.stream(request, cancel))
