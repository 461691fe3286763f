"""Counts the tokens in all of a model's answers."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator

from turnlog.model.cancel import Cancel
from turnlog.model.events import AnswerEnded, ModelEvent
from turnlog.model.model import Model
from turnlog.model.request import ModelRequest


class MeteredModel(Model):
    """A model that counts tokens. Answers that ended early are not counted, because their usage is unknown."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._lock = threading.Lock()
        self._used: Counter[str] = Counter()
        self._answers = 0

    def stream(self, request: ModelRequest, cancel: Cancel | None = None) -> Iterator[ModelEvent]:
        for event in self.model.stream(request, cancel):
            if isinstance(event, AnswerEnded):
                self._count_answer(event)
            yield event

    def count_tokens(self, request: ModelRequest, cancel: Cancel | None = None) -> int:
        """Count the tokens in a request; the API does this free of charge."""
        return self.model.count_tokens(request, cancel)

    @property
    def answers(self) -> int:
        """The number of complete answers."""
        return self._answers

    @property
    def used_tokens(self) -> dict[str, int]:
        """Tokens by their API names: `input_tokens`, `output_tokens`, and so on."""
        with self._lock:
            return dict(self._used)

    def _count_answer(self, event: AnswerEnded) -> None:
        with self._lock:
            self._answers += 1
            for name, value in event.usage.items():
                if isinstance(value, int) and not isinstance(value, bool):
                    self._used[name] += value
