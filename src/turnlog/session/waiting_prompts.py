"""The prompts that were typed while the model worked, and wait for their turn."""

from __future__ import annotations

from collections import OrderedDict, deque

from turnlog.session.prompts import Prompt


class WaitingPrompts:
    """A queue from which prompts are also taken by their text, without looking at those before them."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[int, Prompt] = OrderedDict()
        self._numbers_by_text: dict[str, deque[int]] = {}
        self._added = 0

    def add(self, prompt: Prompt) -> None:
        """Add a prompt at the end."""
        self._waiting[self._added] = prompt
        self._numbers_by_text.setdefault(prompt.text, deque()).append(self._added)
        self._added += 1

    def take_first(self) -> Prompt | None:
        """Remove and return the first prompt, if there is one."""
        if not self._waiting:
            return None
        _, prompt = self._waiting.popitem(last=False)
        self._numbers_by_text[prompt.text].popleft()
        return prompt

    def drop_text(self, text: str) -> None:
        """Remove the first prompt with a text, if there is one."""
        if numbers := self._numbers_by_text.get(text):
            del self._waiting[numbers.popleft()]

    def clear(self) -> None:
        """Remove all prompts."""
        self._waiting.clear()
        self._numbers_by_text.clear()
