"""The conversation as the model has it: messages that only ever grow at their end, so that the prompt cache holds.

What the client has to say besides (project memory, reminders) stands in the messages too, as text of the user's: before
the first prompt (`preface`), or behind what was said last. Marks for the cache are put on when it is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Object = Mapping[str, Any]
Block = dict[str, Any]
Content = str | Sequence[Object]

CLEARED = "[Old tool result content cleared]"
_MARK = {"type": "ephemeral"}
_UNMARKABLE = frozenset({"thinking", "redacted_thinking"})


class Conversation:
    """The messages of one actor."""

    def __init__(self, messages: Iterable[Object] = (), preface: Sequence[Object] = ()) -> None:
        self.preface = list(preface)
        self._messages: list[dict[str, Any]] = []
        self.cleared: set[str] = set()
        """Calls whose results are no longer sent."""
        self.used = 0
        """Tokens that the last request and its answer took: how full the window is."""
        for message in messages:
            self._add(str(message["role"]), blocks(message["content"]))

    @property
    def messages(self) -> Sequence[Object]:
        """All that was said, without preface and marks."""
        return self._messages

    def said(self, content: Content) -> None:
        """A person, or the client, says something; directly behind results it joins them."""
        self._add("user", blocks(content))

    def answered(self, content: Iterable[Object]) -> None:
        """The model says something."""
        self._add("assistant", [dict(block) for block in content if not _is_empty(block)])

    def resulted(self, results: Iterable[Object]) -> None:
        """Calls were answered; all results of one answer come together, in the order of the calls."""
        self._add("user", [dict(block) for block in results])

    def restart(self, summary: str) -> None:
        """A summary takes the place of all that was said."""
        self._messages = [{"role": "user", "content": blocks(summary)}]
        self.cleared.clear()
        self.used = 0

    def to_send(self, further: str = "") -> list[Block]:
        """The messages with preface and marks, and something further to be asked; what was said is not touched."""
        sent = [{"role": message["role"], "content": self._shown(message["content"])} for message in self._messages]
        if further and sent and sent[-1]["role"] == "user":
            sent[-1]["content"] += blocks(further)
        elif further:
            sent.append({"role": "user", "content": blocks(further)})
        if sent and self.preface:
            sent[0] = {**sent[0], "content": [*self.preface, *sent[0]["content"]]}
        users = [place for place, message in enumerate(sent) if message["role"] == "user"]
        for place in users[-2:]:
            sent[place]["content"] = _marked(sent[place]["content"])
        return sent

    def calls(self) -> list[Block]:
        """The results that are still sent in full, oldest first."""
        found = (block for message in self._messages for block in message["content"])
        return [block for block in found if block.get("type") == "tool_result" and self._is_kept(block)]

    def _is_kept(self, block: Object) -> bool:
        return block.get("tool_use_id") not in self.cleared

    def _shown(self, content: Sequence[Block]) -> list[Block]:
        if not self.cleared:
            return list(content)
        return [
            block if block.get("type") != "tool_result" or self._is_kept(block) else {**block, "content": CLEARED}
            for block in content
        ]

    def _add(self, role: str, content: list[Block]) -> None:
        if not content:
            return
        last = self._messages[-1] if self._messages else None
        if last is not None and last["role"] == role:
            last["content"] = [*last["content"], *content]
        else:
            self._messages.append({"role": role, "content": content})


def blocks(content: Content) -> list[Block]:
    """Content as blocks, without empty texts: the API takes none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content.strip() else []
    return [dict(block) for block in content if not _is_empty(block)]


def reminder(text: str) -> Block:
    """Something that the client tells the model."""
    return {"type": "text", "text": f"<system-reminder>\n{text}\n</system-reminder>"}


def _is_empty(block: Object) -> bool:
    return block.get("type") == "text" and not str(block.get("text") or "").strip()


def _marked(content: Sequence[Block]) -> list[Block]:
    """Content up to whose end the model may remember what it read."""
    if not content or content[-1].get("type") in _UNMARKABLE:
        return list(content)
    return [*content[:-1], {**content[-1], "cache_control": _MARK}]
