"""Who answers: the seam between turnlog and a language model.

`stream` gives events while they come. Its iterator may be closed at any time, which ends the request; `cancel` does the
same from another thread. `scripted` answers from a list, `anthropic` asks a server, `patient` tries again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from turnlog.model.answer import ModelAnswer, fold_events
from turnlog.model.cancel import Cancel
from turnlog.model.events import ModelEvent
from turnlog.model.request import ModelRequest


class Model(Protocol):
    """Something that answers requests. May be used by several threads at a time."""

    def stream(self, request: ModelRequest, cancel: Cancel | None = None) -> Iterator[ModelEvent]:
        """Answer, event by event. An answer that breaks off raises; it never just ends."""
        ...  # pragma: no cover

    def count_tokens(self, request: ModelRequest, cancel: Cancel | None = None) -> int:
        """How many tokens a request has."""
        ...  # pragma: no cover

    def complete(self, request: ModelRequest, cancel: Cancel | None = None) -> ModelAnswer:
        """Answer as a whole."""
        return fold_events(self.stream(request, cancel))
